/** The error for an API answer with a status of 400 or more. `code` is the error code for programs. */
export class ApiError extends Error {
  override name = 'ApiError'
  readonly status: number
  readonly code: string
  readonly body: unknown
  constructor(what: string, status: number, body: {error?: string; code?: string}) {
    super(`${what} answered ${status} ${body.code ?? ''}: ${body.error ?? JSON.stringify(body)}`)
    this.status = status
    this.code = body.code ?? 'UNKNOWN'
    this.body = body
  }
}

type Call = {body?: unknown; text?: string; headers?: Record<string, string>}

export type Client = {
  /** Returns the JSON answer. Throws an ApiError for a status of 400 or more. */
  call<T>(method: string, path: string, call?: Call): Promise<T>
  /** Like `call`, but returns the whole response. */
  send(method: string, path: string, call?: Call): Promise<Response>
}

const timeoutMs = 60_000

/** Opens a client for one API and one bearer. `body` is sent as JSON, `text` unchanged with the caller's content type. */
export const openClient = (api: string, bearer: string): Client => {
  const send = async (method: string, path: string, {body, text, headers = {}}: Call = {}) => {
    const json: Record<string, string> = body === undefined ? {} : {'content-type': 'application/json'}
    const response = await fetch(`${api}${path}`, {
      method,
      headers: {authorization: `Bearer ${bearer}`, ...json, ...headers},
      body: body === undefined ? (text ?? null) : JSON.stringify(body),
      signal: AbortSignal.timeout(timeoutMs),
    })
    if (response.status >= 400) throw new ApiError(`${method} ${path}`, response.status, await envelopeOf(response))
    return response
  }
  return {send, call: async <T>(method: string, path: string, call?: Call) => (await send(method, path, call)).json() as Promise<T>}
}

const envelopeOf = async (response: Response) => {
  const text = await response.text()
  try {
    return JSON.parse(text)
  } catch {
    return {error: text.slice(0, 200)}
  }
}

/** Returns the cookies of an answer in the form of a request header. */
export const cookiesOf = (response: Response) =>
  response.headers
    .getSetCookie()
    .map(cookie => cookie.split(';')[0])
    .join('; ')
