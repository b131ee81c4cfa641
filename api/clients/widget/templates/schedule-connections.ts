import type {Json} from '../../http.ts'
import {client, inOrg} from '../state/session.ts'
import {t} from '../text/schedules.ts'

/** Reads the connections that a person can choose for a schedule, with the current one even if it has ended. */
export const readConnections = async (current: string | null, signal?: AbortSignal): Promise<{id: string; name: string}[]> => {
  const {connectors}: Json = await client.get(inOrg('/connectors'), {}, signal)
  return connectors
    .filter(({id, state}: Json) => state === 'connected' || id === current)
    .map(({id, name, state}: Json) => ({id, name: state === 'connected' ? name : `${name} (${t.connectionStates[state] ?? state})`}))
}
