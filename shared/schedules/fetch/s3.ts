import {Readable} from 'node:stream'
import {OutboundFailure} from '../outbound/failure.ts'
import {type Outbound, type OutboundAnswer, readStart} from '../outbound/outbound.ts'
import {SourceFailure} from './failure.ts'
import type {Bounds, FetchResult} from './fetch.ts'
import {nameOf} from './name.ts'
import type {FileSource} from './source.ts'

type S3Source = Extract<FileSource, {kind: 's3'}>

const mostRefusalBytes = 16 * 1024

/**
 * Fetches an object of a bucket. Amazon's client signs the request, and our outbound access sends it. Makes one attempt, which the caller may
 * repeat.
 */
export const fetchS3 = async (outbound: Outbound, source: S3Source, bounds: Bounds): Promise<FetchResult> => {
  const {S3Client, GetObjectCommand} = await import('@aws-sdk/client-s3').catch(cause => {
    throw new Error('Files in buckets need the package @aws-sdk/client-s3. Run npm ci to install it', {cause})
  })
  const {endpoint, region, accessKeyId, secretAccessKey, pathStyle = endpoint !== undefined} = source
  const client = new S3Client({
    region,
    credentials: {accessKeyId, secretAccessKey},
    forcePathStyle: pathStyle,
    maxAttempts: 1,
    ...(endpoint !== undefined && {endpoint}),
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      handle: async (request: SignedRequest) => ({response: await download(outbound, request, bounds)}),
      updateHttpClientConfig() {},
      httpHandlerConfigs: () => ({}),
    },
  })
  try {
    const {Body, ContentDisposition} = await client.send(new GetObjectCommand({Bucket: source.bucket, Key: source.key}))
    return {name: nameOf(source.key, ContentDisposition), stream: Body as Readable}
  } catch (error) {
    throw s3FailureOf(error, source)
  }
}

type SignedRequest = {
  protocol: string
  hostname: string
  port?: number
  path: string
  query: Record<string, string | null>
  headers: Record<string, string>
}

const download = async (outbound: Outbound, {protocol, hostname, port, path, query, headers}: SignedRequest, bounds: Bounds) => {
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

/** Reads a refusal into memory, where Amazon's client finds the error code. For a private host, only the status is passed on. */
const readRefusal = async (answer: OutboundAnswer): Promise<Buffer> => {
  if (!answer.isPrivate) return Buffer.from(await readStart(answer, mostRefusalBytes))
  answer.discard()
  return Buffer.alloc(0)
}

const s3FailureOf = (error: unknown, {bucket, key}: S3Source): unknown => {
  if (error instanceof OutboundFailure && error.code === 'REDIRECTED')
    return new SourceFailure('BAD_ANSWER', `The bucket is in another region or at another endpoint (${error.status}). Correct the region`, {
      cause: error,
    })
  const {name: code, $metadata} = error as Error & {$metadata?: {httpStatusCode?: number}}
  const status = $metadata?.httpStatusCode
  if (status === undefined) return error
  // Only the store's error code is shown, such as `NoSuchKey`, without further text.
  const name = /^\w{1,64}$/.test(code) ? code : status
  const options = {cause: error}
  if (status === 401 || status === 403)
    return new SourceFailure('SIGN_IN_REFUSED', `These credentials may not read ${key} in ${bucket} (${name})`, options)
  if (status === 404) return new SourceFailure('NOT_FOUND', `The store has no ${key} in ${bucket} (${name})`, options)
  if (status >= 500 || status === 408 || status === 429)
    return new SourceFailure('UNREACHABLE', `The store cannot send the file at the moment (${name})`, options)
  return new SourceFailure('BAD_ANSWER', `The store answered ${status} instead of the file (${name})`, options)
}
