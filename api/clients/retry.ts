import {ApiError, type Client, type HttpAnswer, type Json, openClient, type Query, type RequestOptions, Unreachable} from './http.ts'
import {pause} from './pause.ts'

const mostTries = 5
const longestWaitMs = 60_000

/** Opens an API client with retries. A redirect is an error, so that the token is sent only to the chosen server. */
export const openRetryingClient = (base: string, bearer: () => string | null) => withRetry(openClient({base, bearer, redirect: 'manual'}))

/**
 * Adds retries to a client where they are safe: for requests that the rate limit refused, and for reads without an answer or with a
 * temporary error. If the server has responded before, any request is retried after a refused connection, because the server may be
 * restarting. A request is sent at most five times. `open` retries only until the headers arrive.
 */
const withRetry = (client: Client, waitMs = 300): Client => {
  let wasThere = false
  const send = <T>(method: string, options: RequestOptions | undefined, ask: () => Promise<T>) => {
    const tryOnce = async () => {
      const answered = await ask()
      wasThere = true
      return answered
    }
    // A stream can be read only once, so the caller must retry.
    if (options?.isSentOnce || options?.body instanceof ReadableStream) return tryOnce()
    const isRead = method.toUpperCase() === 'GET'
    return again(tryOnce, {isRead, waitMs, wasThere: () => wasThere, signal: options?.signal})
  }
  const call = (method: string, path: string, options?: RequestOptions) =>
    send(method, options, async () => assertOurs(await client.call(method, path, options)))
  const bodyOf = (method: string) => async (path: string, body?: unknown, headers?: Record<string, string>) =>
    (await call(method, path, {body, ...(headers && {headers})})).body
  return {
    ...client,
    call: call as Client['call'],
    open: (method, path, options) => send(method, options, () => client.open(method, path, options)),
    get: async (path: string, query?: Query, signal?: AbortSignal) =>
      (await call('GET', path, {...(query && {query}), ...(signal && {signal})})).body as Json,
    post: bodyOf('POST'),
    put: bodyOf('PUT'),
    patch: bodyOf('PATCH'),
    delete: async (path, headers) => (await call('DELETE', path, headers ? {headers} : {})).body as Json,
  }
}

/** Throws if the response is not JSON. A proxy or another program may send a page with any status. */
const assertOurs = <T>(answered: HttpAnswer<T>): HttpAnswer<T> => {
  if (answered.status === 204 || (typeof answered.body === 'object' && answered.body !== null)) return answered
  throw notOurs()
}

export const notOurs = () => new Unreachable('The server is not a Lading server: its response is not JSON', {cause: {code: 'NOT_OURS'}})

type RetriedRequest = {isRead: boolean; waitMs: number; wasThere(): boolean; signal?: AbortSignal | undefined}

const again = async <T>(ask: () => Promise<T>, {isRead, waitMs, wasThere, signal}: RetriedRequest): Promise<T> => {
  for (let tries = 1; ; tries++) {
    try {
      return await ask()
    } catch (error) {
      const pauseMs = pauseBefore(error, {isRead, tries, waitMs, wasThere: wasThere()})
      if (pauseMs === null || tries >= mostTries) throw error
      await pause(pauseMs, signal)
    }
  }
}

type FailedTry = {isRead: boolean; tries: number; waitMs: number; wasThere?: boolean}

/** Returns the delay before a retry in ms, or null if a retry would not help or could repeat a write. */
export const pauseBefore = (error: unknown, {isRead, tries, waitMs, wasThere = false}: FailedTry): number | null => {
  const grown = waitMs * 2 ** (tries - 1)
  if (error instanceof ApiError && error.code === 'RATE_LIMITED') return Math.min(error.retryAfterMs ?? grown, longestWaitMs)
  if (wasThere && error instanceof Unreachable && reasonOf(error) === 'ECONNREFUSED') return 4 * grown
  if (!isRead) return null
  if (error instanceof Unreachable) return isHopeless(error) || tries >= 3 ? null : grown
  return error instanceof ApiError && ['HTTP_502', 'HTTP_503', 'HTTP_504', 'BUSY', 'UNAVAILABLE'].includes(error.code)
    ? Math.min(error.retryAfterMs ?? grown, longestWaitMs)
    : null
}

/** Whether a retry cannot help: refused connection, no answer of the name server, time-out, or a permanent error. */
const isHopeless = (error: Unreachable) => isPermanent(error) || /^(ECONNREFUSED|EAI_AGAIN|TimeoutError)$/.test(reasonOf(error))

/** Whether waiting cannot help either: unknown host, certificate error, wrong server. */
export const isPermanent = (error: unknown) => error instanceof Unreachable && /^(ENOTFOUND|NOT_OURS)$|CERT|SSL/.test(reasonOf(error))

const reasonOf = ({cause}: Unreachable): string => {
  const {name, code, cause: deeper} = (cause ?? {}) as {name?: string; code?: unknown; cause?: {code?: unknown}}
  return String(name === 'TimeoutError' ? name : (deeper?.code ?? code ?? ''))
}
