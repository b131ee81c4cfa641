// biome-ignore lint/suspicious/noExplicitAny: the API reference defines the shape of responses
export type Json = any

/** An API client for browsers and Node. */
export type Client = {
  base: string
  /** Sends one request. Throws `ApiError` for an error response, and `Unreachable` without a response. */
  call<T = Json>(method: string, path: string, options?: RequestOptions): Promise<HttpAnswer<T>>
  get<T = Json>(path: string, query?: Query, signal?: AbortSignal): Promise<T>
  post<T = Json>(path: string, body?: unknown, headers?: Headers_): Promise<T>
  put<T = Json>(path: string, body?: unknown, headers?: Headers_): Promise<T>
  patch<T = Json>(path: string, body?: unknown, headers?: Headers_): Promise<T>
  delete<T = Json>(path: string, headers?: Headers_): Promise<T>
  /** Returns the response with its body unread, for files and events. The time-out ends when the headers arrive. Throws as `call` does. */
  open(method: string, path: string, options?: RequestOptions): Promise<Response>
}

type QueryValue = string | number | boolean | undefined | null
export type Query = Record<string, QueryValue | QueryValue[]>
export type RequestOptions = {
  query?: Query
  body?: unknown
  headers?: Headers_
  signal?: AbortSignal
  timeoutMs?: number
  /** Switches the client's own retries off, because the caller retries the request. */
  isSentOnce?: boolean
}
export type HttpAnswer<T> = {status: number; headers: Headers; body: T}
type Headers_ = Record<string, string>

/** An error response of the API. Programs use `code` and show `message`; `body` is the whole response body. */
export class ApiError extends Error {
  override name = 'ApiError'
  readonly status: number
  readonly code: string
  readonly body: Json
  readonly retryAfterMs: number | null
  readonly request: string | null

  constructor(status: number, body: Json, headers: Headers) {
    const elsewhere = headers.get('location')
    super(
      typeof body?.error === 'string'
        ? body.error
        : `The server responded with status ${status}${elsewhere ? ` and redirects to ${elsewhere}` : ''}`,
    )
    this.status = status
    this.code = typeof body?.code === 'string' ? body.code : `HTTP_${status}`
    this.body = body
    this.retryAfterMs = retryAfterOf(headers)
    this.request = headers.get('x-request-id')
  }
}

/**
 * Thrown if no usable response arrived: the connection failed, the time-out passed, or another program responded. The server may or may not
 * have carried out the request.
 */
export class Unreachable extends Error {
  override name = 'Unreachable'
}

const usualTimeoutMs = 120_000

type Access = {base: string; bearer?: () => string | null; headers?: Headers_; redirect?: 'follow' | 'manual'}

/**
 * Opens an API client. `bearer` is called for every request, because the token may change; without `bearer`, a cookie of the browser authenticates.
 * Every request includes `headers`. The default time-out is 120 seconds, longer than the server's default time-out for a CRM call. With `redirect:
 * 'manual'`, a redirect is an error, because a followed POST would become a GET.
 */
export const openClient = ({base, bearer = () => null, headers: always, redirect = 'follow'}: Access): Client => {
  const open = async (method: string, path: string, {query, body, headers, signal}: RequestOptions, limit: AbortSignal | null) => {
    const token = bearer()
    const isJson = body !== undefined && isPlain(body)
    const limits = [limit, signal].filter(one => !!one)
    const asked = {
      method: method.toUpperCase(),
      redirect,
      headers: {
        ...(token !== null && {authorization: `Bearer ${token}`}),
        ...(isJson && {'content-type': 'application/json'}),
        ...always,
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

  const call = async (method: string, path: string, options: RequestOptions = {}): Promise<HttpAnswer<Json>> => {
    const response = await open(method, path, options, limitOf(options))
    const text = await response.text().catch(error => {
      if (options.signal?.aborted) throw options.signal.reason
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
    open: async (method, path, options = {}) => {
      const limit = limitOf(options)
      const late = new AbortController()
      const expire = () => late.abort(limit?.reason)
      limit?.addEventListener('abort', expire)
      const response = await open(method, path, options, late.signal)
      limit?.removeEventListener('abort', expire)
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

const limitOf = ({timeoutMs = usualTimeoutMs}: RequestOptions) => (timeoutMs === Infinity ? null : AbortSignal.timeout(timeoutMs))

/** Yields every item of a paged list. `name` is the key of the items. The options apply to the request of each page. */
export async function* readPages<T = Json>(
  client: Client,
  path: string,
  name: string,
  query: Query = {},
  options: RequestOptions = {},
): AsyncGenerator<T> {
  for (let cursor: string | null | undefined = null; cursor !== undefined; ) {
    const {body: page}: HttpAnswer<Json> = await client.call('GET', path, {...options, query: {...query, ...(cursor !== null && {cursor})}})
    yield* page[name] as T[]
    cursor = page.nextCursor ?? undefined
  }
}

/** The maximum page size of the lists that `readFirst` reads. */
const mostOfPage = 100

/** Reads the first `limit` items of a list, from as many pages as needed. */
export const readFirst = async <T = Json>(
  client: Client,
  path: string,
  name: string,
  {limit, ...query}: Query & {limit: number},
): Promise<T[]> => {
  const items: T[] = []
  for await (const item of readPages<T>(client, path, name, {...query, limit: Math.min(limit, mostOfPage)})) {
    items.push(item)
    if (items.length === limit) break
  }
  return items
}

/**
 * Returns the ETag in the strong form that `If-Match` needs. A compressing proxy marks ETags as weak (`W/`), but does not change the version in them.
 */
export const strongETag = (headers: Headers) => headers.get('etag')?.replace(/^W\//, '')

/** Returns the query as the end of an address. A list becomes one parameter per item. */
const inAddress = (query: Query = {}) => {
  const all = Object.entries(query).flatMap(([name, value]) => [value].flat().map(one => [name, one] as const))
  const given = all.filter(([, value]) => value !== undefined && value !== null)
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

/** Converts Retry-After, in seconds or as a date (RFC 9110), to milliseconds. */
const retryAfterOf = (headers: Headers) => {
  const given = headers.get('retry-after')
  if (given === null) return null
  if (/^\d+$/.test(given)) return Number(given) * 1000
  const at = Date.parse(given)
  return Number.isNaN(at) ? null : Math.max(0, at - Date.now())
}

const reasonOf = (error: Json, base: string) => {
  if (error?.name === 'TimeoutError') return `${base} did not respond in time`
  const code = error?.cause?.code ?? error?.code
  return `Could not reach ${base}${code ? ` (${code})` : ''}`
}
