import {setTimeout as sleep} from 'node:timers/promises'
import {ApiError, type Client, type Json, type Query, type Sent, Unreachable} from '../http.ts'

const mostTries = 5
const longestWaitMs = 60_000

/**
 * The same client, which asks again where that can do no harm: reads that nobody answered, and whatever the server turned away unlooked at
 * because too much was asked of it. Nobody listening there at all is said at once.
 */
export const withPatience = (client: Client, waitMs = 300): Client => {
  const call = (method: string, path: string, sent?: Sent) =>
    again(() => client.call(method, path, sent), {isRead: method.toUpperCase() === 'GET', waitMs, signal: sent?.signal})
  const bodyOf = (method: string) => async (path: string, body?: unknown, headers?: Record<string, string>) =>
    (await call(method, path, {body, ...(headers && {headers})})).body
  return {
    ...client,
    call: call as Client['call'],
    get: async (path: string, query?: Query, signal?: AbortSignal) =>
      (await call('GET', path, {...(query && {query}), ...(signal && {signal})})).body as Json,
    post: bodyOf('POST'),
    put: bodyOf('PUT'),
    patch: bodyOf('PATCH'),
    delete: async (path, headers) => (await call('DELETE', path, headers ? {headers} : {})).body as Json,
  }
}

type Asked = {isRead: boolean; waitMs: number; signal?: AbortSignal | undefined}

const again = async <T>(ask: () => Promise<T>, {isRead, waitMs, signal}: Asked): Promise<T> => {
  for (let tries = 1; ; tries++) {
    try {
      return await ask()
    } catch (error) {
      const pauseMs = pauseBefore(error, {isRead, tries, waitMs})
      if (pauseMs === null || tries >= mostTries) throw error
      await sleep(pauseMs, undefined, signal && {signal})
    }
  }
}

/** How long to wait before asking again; null: it would not help, or might do a thing twice. */
export const pauseBefore = (error: unknown, {isRead, tries, waitMs}: {isRead: boolean; tries: number; waitMs: number}): number | null => {
  const grown = waitMs * 2 ** (tries - 1)
  if (error instanceof ApiError && error.code === 'RATE_LIMITED') return Math.min(error.retryAfterMs ?? grown, longestWaitMs)
  if (!isRead) return null
  if (error instanceof Unreachable) return isRefusedConnection(error) || tries >= 3 ? null : grown
  return error instanceof ApiError && ['HTTP_502', 'HTTP_503', 'HTTP_504', 'BUSY', 'UNAVAILABLE'].includes(error.code)
    ? Math.min(error.retryAfterMs ?? grown, longestWaitMs)
    : null
}

/** Nobody listens there, or there is no such host. */
export const isRefusedConnection = ({cause}: Unreachable) => {
  const {code, cause: deeper} = (cause ?? {}) as {code?: string; cause?: {code?: string}}
  return ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'].includes(code ?? deeper?.code ?? '')
}
