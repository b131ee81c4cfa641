import {createHash, createHmac, randomUUID} from 'node:crypto'
import {createServer, type IncomingMessage, type ServerResponse} from 'node:http'
import type {AddressInfo} from 'node:net'
import {buffer} from 'node:stream/consumers'

type Options = {bucket: string; accessKeyId: string; secretAccessKey: string; region: string}
type PerformInput = {method: string; path: string; query: URLSearchParams; headers: IncomingMessage['headers']; body: Buffer}
type Answer = {status: number; headers?: Record<string, string>; body?: Buffer | string}
type Fault = {method: string; times: number; action: 'drop' | {status: number}}
/** The modification time of objects. */
const startedAt = new Date()

type Upload = {key: string; parts: Map<number, Buffer>; initiated: Date}

/**
 * Starts an S3 store on the loopback interface, with state in memory and injectable faults. It has one bucket, whole objects and multipart
 * uploads, ranges, listings of 1,000, and verified signatures. Source: the API reference of Amazon S3 and its Signature Version 4.
 */
export const startS3 = async (options: Options) => {
  const objects = new Map<string, Buffer>()
  const uploads = new Map<string, Upload>()
  const faults: Fault[] = []
  const journal: string[] = []

  const serve = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const sent = await buffer(incoming).catch(() => null)
    // The client disconnected during the request, so nothing is stored.
    if (sent === null) return
    const url = new URL(incoming.url!, 'http://s3')
    const asked = {
      method: incoming.method!,
      path: url.pathname,
      query: url.searchParams,
      headers: incoming.headers,
      body: sent,
    }
    journal.push(`${asked.method} ${incoming.url}`)
    const fault = faults.find(({method, times}) => method === asked.method && times > 0)
    if (fault) fault.times--
    if (fault?.action === 'drop') return void incoming.socket.destroy()
    const {status, headers = {}, body = ''} = fault ? failed(fault.action.status, 'SlowDown') : perform({objects, uploads}, options, asked)
    outgoing.writeHead(status, {'content-length': String(Buffer.byteLength(body)), ...headers})
    outgoing.end(asked.method === 'HEAD' ? undefined : body)
  }

  const server = createServer((incoming, outgoing) => void serve(incoming, outgoing))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const stop = async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  }
  return {url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, objects, uploads, faults, journal, stop}
}

type State = {objects: Map<string, Buffer>; uploads: Map<string, Upload>}

const perform = (state: State, options: Options, asked: PerformInput): Answer => {
  if (!isSigned(options, asked)) return failed(403, 'SignatureDoesNotMatch')
  const [, bucket, ...rest] = asked.path.split('/')
  if (bucket !== options.bucket) return failed(404, 'NoSuchBucket')
  const key = decodeURIComponent(rest.join('/'))
  if (!key) return list(state, asked.query)
  if (asked.query.has('uploads') || asked.query.has('uploadId')) return assemble(state, key, asked)
  if (asked.method === 'PUT') {
    state.objects.set(key, asked.body)
    return {status: 200, headers: {etag: '"1"'}}
  }
  if (asked.method === 'DELETE') {
    state.objects.delete(key)
    return {status: 204}
  }
  const object = state.objects.get(key)
  return object ? give(object, asked.headers.range) : failed(404, 'NoSuchKey')
}

const give = (object: Buffer, range: string | undefined): Answer => {
  if (!range) return {status: 200, headers: {etag: '"1"', 'content-length': String(object.length)}, body: object}
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(range)!
  if (Number(from) >= object.length) return failed(416, 'InvalidRange')
  const part = object.subarray(Number(from), Number(to) + 1)
  return {status: 206, headers: {'content-range': `bytes ${from}-${Number(from) + part.length - 1}/${object.length}`}, body: part}
}

const list = ({objects, uploads}: State, query: URLSearchParams): Answer => {
  if (query.has('uploads')) return listUploads(uploads, query)
  const after = query.get('continuation-token') ?? ''
  const all = [...objects.keys()].filter(key => key.startsWith(query.get('prefix') ?? '') && key > after).toSorted()
  const page = all.slice(0, 1_000)
  const more = all.length > page.length
  const contents = page.map(
    key =>
      `<Contents><Key>${key}</Key><LastModified>${startedAt.toISOString()}</LastModified><Size>${objects.get(key)!.length}</Size></Contents>`,
  )
  const next = more ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : ''
  return xml('ListBucketResult', `<IsTruncated>${more}</IsTruncated>${next}${contents.join('')}`)
}

const listUploads = (uploads: State['uploads'], query: URLSearchParams): Answer => {
  const after = `${query.get('key-marker') ?? ''}\n${query.get('upload-id-marker') ?? ''}`
  const open = [...uploads].map(([id, {key}]) => `${key}\n${id}`).filter(place => place > after)
  const page = open.toSorted().slice(0, 1_000)
  const listed = page.map(place => {
    const [key, id] = place.split('\n')
    return `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${uploads.get(id!)!.initiated.toISOString()}</Initiated></Upload>`
  })
  const more = open.length > page.length
  const [key, id] = page.at(-1)?.split('\n') ?? []
  const next = more ? `<NextKeyMarker>${key}</NextKeyMarker><NextUploadIdMarker>${id}</NextUploadIdMarker>` : ''
  return xml('ListMultipartUploadsResult', `<IsTruncated>${more}</IsTruncated>${next}${listed.join('')}`)
}

const assemble = ({objects, uploads}: State, key: string, {method, query, body}: PerformInput): Answer => {
  if (query.has('uploads')) {
    const id = randomUUID()
    uploads.set(id, {key, parts: new Map(), initiated: new Date()})
    return xml('InitiateMultipartUploadResult', `<Key>${key}</Key><UploadId>${id}</UploadId>`)
  }
  const id = query.get('uploadId')!
  const upload = uploads.get(id)
  if (!upload) return failed(404, 'NoSuchUpload')
  if (method === 'PUT') {
    upload.parts.set(Number(query.get('partNumber')), body)
    return {status: 200, headers: {etag: `"${query.get('partNumber')}"`}}
  }
  uploads.delete(id)
  if (method === 'DELETE') return {status: 204}
  const numbers = [...String(body).matchAll(/<PartNumber>(\d+)<\/PartNumber>/g)].map(([, number]) => Number(number))
  objects.set(key, Buffer.concat(numbers.map(number => upload.parts.get(number)!)))
  return xml('CompleteMultipartUploadResult', `<Key>${key}</Key><ETag>"1"</ETag>`)
}

const xml = (root: string, content: string): Answer => ({
  status: 200,
  headers: {'content-type': 'application/xml'},
  body: `<?xml version="1.0" encoding="UTF-8"?><${root} xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${content}</${root}>`,
})

const failed = (status: number, code: string): Answer => ({
  status,
  headers: {'content-type': 'application/xml'},
  body: `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`,
})

/** Whether the signature of a request fits its content and the secret. */
const isSigned = ({accessKeyId, secretAccessKey, region}: Options, {method, path, query, headers, body}: PerformInput) => {
  const [, credential, signed, signature] =
    /^AWS4-HMAC-SHA256 Credential=(\S+), ?SignedHeaders=(\S+), ?Signature=(\w+)$/.exec(headers.authorization ?? '') ?? []
  const date = String(headers['x-amz-date'])
  const scope = `${date.slice(0, 8)}/${region}/s3/aws4_request`
  const digest = String(headers['x-amz-content-sha256'])
  if (credential !== `${accessKeyId}/${scope}` || (digest !== 'UNSIGNED-PAYLOAD' && digest !== sha256(body))) return false
  const encode = (text: string) =>
    encodeURIComponent(text).replaceAll(/[!'()*]/g, found => `%${found.charCodeAt(0).toString(16).toUpperCase()}`)
  const pairs = [...query].map(([name, value]) => `${encode(name)}=${encode(value)}`).toSorted()
  const lines = signed!.split(';').map(name => `${name}:${String(headers[name]).trim()}\n`)
  const request = [method, path, pairs.join('&'), lines.join(''), signed, digest].join('\n')
  const parts = [date.slice(0, 8), region, 's3', 'aws4_request']
  const key = parts.reduce<Buffer>((secret, part) => hmac(secret, part), Buffer.from(`AWS4${secretAccessKey}`))
  return hmac(key, ['AWS4-HMAC-SHA256', date, scope, sha256(request)].join('\n')).toString('hex') === signature
}

const sha256 = (content: Buffer | string) => createHash('sha256').update(content).digest('hex')
const hmac = (key: Buffer, content: string) => createHmac('sha256', key).update(content).digest()
