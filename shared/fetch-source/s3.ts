import {Readable} from 'node:stream'
import {type Answer, type Outbound, readStart} from '../outbound/outbound.ts'
import {SourceFailure} from './failure.ts'
import type {Bounds, Fetched} from './fetch.ts'
import {nameOf} from './name.ts'
import type {FileSource} from './source.ts'

type S3Source = Extract<FileSource, {kind: 's3'}>

const mostRefusalBytes = 16 * 1024

/** Amazon's client signs; what it wants sent goes out by our door. Once: who asks again is whoever fetches. */
export const fetchS3 = async (outbound: Outbound, source: S3Source, bounds: Bounds): Promise<Fetched> => {
  const {S3Client, GetObjectCommand} = await import('@aws-sdk/client-s3').catch(cause => {
    throw new Error('Files in buckets need the optional package @aws-sdk/client-s3: npm ci installs it', {cause})
  })
  const {endpoint, region, accessKeyId, secretAccessKey, pathStyle = endpoint !== undefined} = source
  const client = new S3Client({
    ...{region, credentials: {accessKeyId, secretAccessKey}, forcePathStyle: pathStyle, maxAttempts: 1},
    ...(endpoint !== undefined && {endpoint}),
    ...{requestChecksumCalculation: 'WHEN_REQUIRED', responseChecksumValidation: 'WHEN_REQUIRED'},
    requestHandler: {
      handle: async (request: Signed) => ({response: await carry(outbound, request, bounds)}),
      updateHttpClientConfig() {},
      httpHandlerConfigs: () => ({}),
    },
  })
  try {
    const {Body, ContentDisposition} = await client.send(new GetObjectCommand({Bucket: source.bucket, Key: source.key}))
    return {name: nameOf(source.key, ContentDisposition), stream: Body as Readable}
  } catch (error) {
    throw told(error, source)
  }
}

/** As the client hands it to whoever carries it. */
type Signed = {
  protocol: string
  hostname: string
  port?: number
  path: string
  query: Record<string, string | null>
  headers: Record<string, string>
}

const carry = async (outbound: Outbound, {protocol, hostname, port, path, query, headers}: Signed, bounds: Bounds) => {
  const pairs = Object.entries(query).map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value ?? '')}`)
  const place = `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}`
  const answer = await outbound.request(`${place}${path}${pairs.length ? `?${pairs.join('&')}` : ''}`, {headers, ...bounds})
  const body = answer.status === 200 ? answer.body : [await readRefusal(answer)]
  return {
    statusCode: answer.status,
    headers: answer.headers as Record<string, string>,
    body: Readable.from(body, {objectMode: false}),
  }
}

/** The client reads a refusal whole, into memory, and tells its code. Of a private host it is told the status alone. */
const readRefusal = async (answer: Answer): Promise<Buffer> => {
  if (!answer.isPrivate) return Buffer.from(await readStart(answer, mostRefusalBytes))
  answer.discard()
  return Buffer.alloc(0)
}

const told = (error: unknown, {bucket, key}: S3Source): unknown => {
  const {name: code, $metadata} = error as Error & {$metadata?: {httpStatusCode?: number}}
  const status = $metadata?.httpStatusCode
  if (status === undefined) return error
  // The store's own word, which is told on: `NoSuchKey`, and no text.
  const name = /^\w{1,64}$/.test(code) ? code : status
  const options = {cause: error}
  if (status === 401 || status === 403)
    return new SourceFailure('SIGN_IN_REFUSED', `The store does not let these credentials read ${key} in ${bucket} (${name})`, options)
  if (status === 404) return new SourceFailure('NOT_FOUND', `The store has no ${key} in ${bucket} (${name})`, options)
  if (status >= 500 || status === 408 || status === 429)
    return new SourceFailure('UNREACHABLE', `The store cannot give the file now (${name})`, options)
  return new SourceFailure('BAD_ANSWER', `The store answered ${status} instead of the file (${name})`, options)
}
