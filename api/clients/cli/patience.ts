import {setTimeout as sleep} from 'node:timers/promises'
import {type Answered, ApiError, type Client, type Json, openClient, type Query, type Sent, Unreachable} from '../http.ts'

const mostTries = 5
const longestWaitMs = 60_000

/** The API as commands speak to it. What it sends elsewhere is an error: a bearer goes to the server that is meant and to no other. */
export const openPatient = (base: string, bearer: () => string | null) => withPatience(openClient({base, bearer, redirect: 'manual'}))

/**
 * The same client, which asks again where that can do no harm: reads that nobody answered, and whatever the server turned away unlooked at
 * because too much was asked of it. Nobody listening there at all is said at once, unless there was an answer before: a server that is
 * started anew is back in seconds.
 */
const withPatience = (client: Client, waitMs = 300): Client => {
  let wasThere = false
  const ask = async (method: string, path: string, sent?: Sent) => {
    const answered = assertOurs(await client.call(method, path, sent))
    wasThere = true
    return answered
  }
  const call = (method: string, path: string, sent?: Sent) => {
    // A stream can be read once: whoever sends one begins again by itself.
    if (sent?.body instanceof ReadableStream) return ask(method, path, sent)
    const isRead = method.toUpperCase() === 'GET'
    return again(() => ask(method, path, sent), {isRead, waitMs, wasThere: () => wasThere, signal: sent?.signal})
  }
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

/** A proxy's or another program's page is no answer, whatever its status. */
const assertOurs = <T>(answered: Answered<T>): Answered<T> => {
  if (answered.status === 204 || (typeof answered.body === 'object' && answered.body !== null)) return answered
  throw notOurs()
}

export const notOurs = () => new Unreachable('What answers there is not lading: it sent something else', {cause: {code: 'NOT_OURS'}})

type Asked = {isRead: boolean; waitMs: number; wasThere(): boolean; signal?: AbortSignal | undefined}

const again = async <T>(ask: () => Promise<T>, {isRead, waitMs, wasThere, signal}: Asked): Promise<T> => {
  for (let tries = 1; ; tries++) {
    try {
      return await ask()
    } catch (error) {
      const pauseMs = pauseBefore(error, {isRead, tries, waitMs, wasThere: wasThere()})
      if (pauseMs === null || tries >= mostTries) throw error
      await sleep(pauseMs, undefined, signal && {signal})
    }
  }
}

type Tried = {isRead: boolean; tries: number; waitMs: number; wasThere?: boolean}

/** How long to wait before asking again; null: it would not help, or might do a thing twice. */
export const pauseBefore = (error: unknown, {isRead, tries, waitMs, wasThere = false}: Tried): number | null => {
  const grown = waitMs * 2 ** (tries - 1)
  if (error instanceof ApiError && error.code === 'RATE_LIMITED') return Math.min(error.retryAfterMs ?? grown, longestWaitMs)
  if (wasThere && error instanceof Unreachable && reasonOf(error) === 'ECONNREFUSED') return 4 * grown
  if (!isRead) return null
  if (error instanceof Unreachable) return isHopeless(error) || tries >= 3 ? null : grown
  return error instanceof ApiError && ['HTTP_502', 'HTTP_503', 'HTTP_504', 'BUSY', 'UNAVAILABLE'].includes(error.code)
    ? Math.min(error.retryAfterMs ?? grown, longestWaitMs)
    : null
}

/** Nobody listens there, there is no such host, it is not who it says, something else answered, or nothing for as long as a call may take. */
const isHopeless = (error: Unreachable) => /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|NOT_OURS|TimeoutError)$|CERT|SSL/.test(reasonOf(error))

const reasonOf = ({cause}: Unreachable): string => {
  const {name, code, cause: deeper} = (cause ?? {}) as {name?: string; code?: unknown; cause?: {code?: unknown}}
  return String(name === 'TimeoutError' ? name : (deeper?.code ?? code ?? ''))
}
