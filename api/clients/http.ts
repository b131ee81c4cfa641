// biome-ignore lint/suspicious/noExplicitAny: an answer is what the API reference says of it
export type Json = any

/** The API as programs speak to it, in a browser and in Node alike. */
export type Client = {
  base: string
  /** One call; what is not a success is thrown: `ApiError` with the code it was refused with, `Unreachable` when nobody answered. */
  call<T = Json>(method: string, path: string, sent?: Sent): Promise<Answered<T>>
  get<T = Json>(path: string, query?: Query, signal?: AbortSignal): Promise<T>
  post<T = Json>(path: string, body?: unknown, headers?: Headers_): Promise<T>
  put<T = Json>(path: string, body?: unknown, headers?: Headers_): Promise<T>
  patch<T = Json>(path: string, body?: unknown, headers?: Headers_): Promise<T>
  delete<T = Json>(path: string, headers?: Headers_): Promise<T>
  /** The answer as it comes, for files and events. */
  open(method: string, path: string, sent?: Sent): Promise<Response>
}

export type Query = Record<string, string | number | boolean | undefined | null>
export type Sent = {query?: Query; body?: unknown; headers?: Headers_; signal?: AbortSignal; timeoutMs?: number}
export type Answered<T> = {status: number; headers: Headers; body: T}
type Headers_ = Record<string, string>

/** A refusal in the envelope: `code` is what to look at, `message` what to show; `body` holds whatever stood beside them. */
export class ApiError extends Error {
  override name = 'ApiError'
  readonly status: number
  readonly code: string
  readonly body: Json
  readonly retryAfterMs: number | null
  readonly request: string | null

  constructor(status: number, body: Json, headers: Headers) {
    const elsewhere = headers.get('location')
    super(typeof body?.error === 'string' ? body.error : `The server answered ${status}${elsewhere ? ` and sends to ${elsewhere}` : ''}`)
    this.status = status
    this.code = typeof body?.code === 'string' ? body.code : `HTTP_${status}`
    this.body = body
    this.retryAfterMs = retryAfterOf(headers)
    this.request = headers.get('x-request-id')
  }
}

/** Nobody answered, or not in time: whether what was asked was done is not known. */
export class Unreachable extends Error {
  override name = 'Unreachable'
}

const usualTimeoutMs = 100_000

type Access = {base: string; bearer: () => string | null; redirect?: 'follow' | 'manual'}

/**
 * `bearer` is asked for with every call: it may change. Without a time-out of its own a call has 100 seconds, past the server's own.
 * `redirect`: `manual` has it thrown, where a POST that were followed would arrive as a GET.
 */
export const openClient = ({base, bearer, redirect = 'follow'}: Access): Client => {
  const open = async (method: string, path: string, {query, body, headers, signal, timeoutMs = usualTimeoutMs}: Sent = {}) => {
    const token = bearer()
    const isJson = body !== undefined && isPlain(body)
    const limits = [...(timeoutMs === Infinity ? [] : [AbortSignal.timeout(timeoutMs)]), ...(signal ? [signal] : [])]
    const asked = {
      method: method.toUpperCase(),
      redirect,
      headers: {
        ...(token !== null && {authorization: `Bearer ${token}`}),
        ...(isJson && {'content-type': 'application/json'}),
        ...headers,
      },
      ...(limits.length > 0 && {signal: AbortSignal.any(limits)}),
      ...(body !== undefined && {body: isJson ? JSON.stringify(body) : body, duplex: 'half'}),
    } as RequestInit
    return fetch(base + path + inAddress(query), asked).catch(error => {
      if (signal?.aborted) throw signal.reason
      throw new Unreachable(reasonOf(error, base), {cause: error})
    })
  }

  const call = async (method: string, path: string, sent: Sent = {}): Promise<Answered<Json>> => {
    const response = await open(method, path, sent)
    const text = await response.text().catch(error => {
      if (sent.signal?.aborted) throw sent.signal.reason
      throw new Unreachable(reasonOf(error, base), {cause: error})
    })
    const body = readBody(text, response.headers)
    if (!response.ok) throw new ApiError(response.status, body, response.headers)
    return {status: response.status, headers: response.headers, body}
  }

  const bodyOf = (method: string) => async (path: string, body?: unknown, headers?: Headers_) =>
    (await call(method, path, {body, ...(headers && {headers})})).body

  return {
    base,
    call,
    open: async (method, path, sent) => {
      const response = await open(method, path, sent)
      if (!response.ok) throw new ApiError(response.status, readBody(await response.text(), response.headers), response.headers)
      return response
    },
    get: async (path, query, signal) => (await call('GET', path, {...(query && {query}), ...(signal && {signal})})).body,
    post: bodyOf('POST'),
    put: bodyOf('PUT'),
    patch: bodyOf('PATCH'),
    delete: async (path, headers) => (await call('DELETE', path, headers ? {headers} : {})).body,
  }
}

/** Every item of a list that comes in pages, in its order; `name` is what the items stand under. */
export async function* readPages<T = Json>(client: Client, path: string, name: string, query: Query = {}): AsyncGenerator<T> {
  for (let cursor: string | null | undefined = null; cursor !== undefined; ) {
    const page: Json = await client.get(path, {...query, ...(cursor !== null && {cursor})})
    yield* page[name] as T[]
    cursor = page.nextCursor ?? undefined
  }
}

const inAddress = (query: Query = {}) => {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null)
  return given.length ? `?${new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]))}` : ''
}

const isPlain = (body: unknown) =>
  typeof body !== 'string' && !(body instanceof Blob) && !ArrayBuffer.isView(body) && !(body instanceof ReadableStream)

const readBody = (text: string, headers: Headers) => {
  if (!headers.get('content-type')?.includes('json')) return text
  try {
    return text ? JSON.parse(text) : null
  } catch {
    return text
  }
}

/** Seconds or a date, as RFC 9110 has it. */
const retryAfterOf = (headers: Headers) => {
  const given = headers.get('retry-after')
  if (given === null) return null
  if (/^\d+$/.test(given)) return Number(given) * 1000
  const at = Date.parse(given)
  return Number.isNaN(at) ? null : Math.max(0, at - Date.now())
}

const reasonOf = (error: Json, base: string) => {
  if (error?.name === 'TimeoutError') return `${base} did not answer in time`
  const code = error?.cause?.code ?? error?.code
  return `Nobody answers at ${base}${code ? ` (${code})` : ''}`
}
