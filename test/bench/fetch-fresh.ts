import {setImmediate as nextTurn} from 'node:timers/promises'

/**
 * Fetches after the event loop has noticed which connections are closed. During seconds of synchronous work, the server may close a connection.
 * `fetch` alone would reuse that connection and fail.
 */
export const fetchFresh = async (...request: Parameters<typeof fetch>) => {
  await nextTurn()
  return fetch(...request)
}
