import {setImmediate as nextTurn} from 'node:timers/promises'

/**
 * Fetches after the event loop has noticed which connections are closed. After seconds of synchronous work, `fetch` alone would reuse a
 * connection that the server has closed meanwhile, and fail.
 */
export const fetchFresh = async (...request: Parameters<typeof fetch>) => {
  await nextTurn()
  return fetch(...request)
}
