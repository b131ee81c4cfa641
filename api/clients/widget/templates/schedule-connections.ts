import type {Json} from '../../http.ts'
import {client, inOrg} from '../state/session.ts'

/** Reads the connections that a person can choose for a schedule. Empty if the template already names a connection. */
export const readConnections = async (ofTemplate: string | null, signal?: AbortSignal): Promise<{id: string; name: string}[]> => {
  if (ofTemplate !== null) return []
  const {connectors}: Json = await client.get(inOrg('/connectors'), {}, signal)
  return connectors.filter(({state}: Json) => state === 'connected')
}
