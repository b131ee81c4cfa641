import type {IncomingHttpHeaders, IncomingMessage} from 'node:http'

export type Request = {
  method: string
  path: string
  dc: string
  /** Which host was called: the API, the host of file uploads, or the host of bulk write results. */
  host: 'api' | 'content' | 'download'
  query: URLSearchParams
  headers: IncomingHttpHeaders
  body: Buffer
  /** Returns the parameters of the query and of a url-encoded or multipart body. */
  params: () => Promise<URLSearchParams>
}

export const readRequest = async (incoming: IncomingMessage, defaultDc: string): Promise<Request> => {
  const url = incoming.url ?? '/'
  const mark = url.indexOf('?')
  const whole = mark === -1 ? url : url.slice(0, mark)
  const [, dc, rest] = /^\/dc\/([a-z]+)(\/.*)?$/.exec(whole) ?? []
  const [, host, path] = /^\/(content|download)(\/.*)$/.exec(dc === undefined ? whole : (rest ?? '/')) ?? []
  const query = new URLSearchParams(mark === -1 ? '' : url.slice(mark + 1))
  const body = await readBody(incoming)
  const {headers} = incoming
  return {
    method: incoming.method ?? 'GET',
    path: path ?? (dc === undefined ? whole : (rest ?? '/')),
    host: (host ?? 'api') as Request['host'],
    dc: dc ?? defaultDc,
    query,
    headers,
    body,
    params: () => readParams(query, headers['content-type'] ?? '', body),
  }
}

/** Returns the token of the schemes Zoho-oauthtoken and Bearer; null for any other scheme. */
export const bearerOf = (headers: IncomingHttpHeaders): string | null =>
  /^(?:Zoho-oauthtoken|Bearer)\s+(\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? null

const readBody = (incoming: IncomingMessage): Promise<Buffer> => {
  const {promise, resolve, reject} = Promise.withResolvers<Buffer>()
  const chunks: Buffer[] = []
  incoming.on('data', chunk => chunks.push(chunk))
  incoming.on('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)))
  incoming.on('error', reject)
  incoming.on('close', () => reject(new Error('The request was not sent to its end')))
  return promise
}

const readParams = async (query: URLSearchParams, type: string, body: Buffer): Promise<URLSearchParams> => {
  const params = new URLSearchParams(query)
  if (type.startsWith('multipart/form-data')) {
    const form = await new Response(new Uint8Array(body), {headers: {'content-type': type}}).formData()
    for (const [name, value] of form) if (typeof value === 'string') params.set(name, value)
  } else {
    for (const [name, value] of new URLSearchParams(body.toString())) params.set(name, value)
  }
  return params
}
