import type {Json} from '../../http.ts'
import {client, inOrg} from '../state/session.ts'

/** Reads the connections among which a schedule chooses. If the template names its own, there is nothing to choose. */
export const readConnections = async (ofTemplate: string | null, signal?: AbortSignal): Promise<{id: string; name: string}[]> => {
  if (ofTemplate !== null) return []
  const {connectors}: Json = await client.get(inOrg('/connectors'), {}, signal)
  return connectors.filter(({state}: Json) => state === 'connected')
}
