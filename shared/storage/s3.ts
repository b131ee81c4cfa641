import {Readable} from 'node:stream'
import type {S3Client} from '@aws-sdk/client-s3'
import {StorageFailed} from './failed.ts'
import {StorageMissing} from './missing.ts'
import type {Storage, StorageObject} from './storage.ts'

export type S3Config = {
  bucket: string
  region: string
  /** The endpoint of a store that is not Amazon's. */
  endpoint?: string | undefined
  accessKeyId: string
  secretAccessKey: string
}

/**
 * The size in bytes of one read request and of one part of an upload. A reader such as a run may pause for hours between two pieces, and stores
 * cut a connection that stays open that long. Objects never change, so pieces that are read at different times fit together.
 */
const pieceBytes = 8 * 1024 ** 2
const connectWithinMs = 5_000
/** The longest time without a byte in either direction. */
const idleMs = 30_000
const mostAttempts = 3
const deletesAtOnce = 10
/** An unfinished upload that is older is treated as left by a crashed process. */
const leftoverMs = 24 * 60 * 60 * 1000
/** The most pages of 1,000 unfinished uploads that one sweep lists. */
const mostPages = 100
/** Matches the keys of this service's objects, because the bucket may hold uploads of other programs too. */
const ownKey = /^org_\w+\/(imp_\w+|runs|test-fetches)\//

/** Opens storage in any S3-compatible store. The client is loaded at its first use. */
export const openS3 = (config: S3Config): Storage => {
  const {bucket: Bucket} = config
  let opened: ReturnType<typeof connect> | undefined
  const open = () => (opened ??= connect(config))
  const list = (folder: string | undefined) => listObjects(open, {Bucket, Prefix: folder === undefined ? '' : `${folder}/`})
  const sizeOf = async (key: string) => {
    const {client, s3} = await open()
    const {ContentLength = 0} = await missingOr(key, () => client.send(new s3.HeadObjectCommand({Bucket, Key: key})))
    return ContentLength
  }
  const remove = async (key: string) => {
    const {client, s3} = await open()
    await client.send(new s3.DeleteObjectCommand({Bucket, Key: key}))
  }
  const pieces = async (key: string, range: {start: number; end: number}) => {
    const {client, s3} = await open()
    const read = async (start: number, end: number) => {
      const Range = `bytes=${start}-${end - 1}`
      const {Body} = await missingOr(key, () => client.send(new s3.GetObjectCommand({Bucket, Key: key, Range})))
      return Buffer.from(await Body!.transformToByteArray())
    }
    return streamOf(read, range)
  }
  return {
    kind: `s3:${Bucket}`,
    put: (key, stream) => putWhole(open, {Bucket, Key: key}, stream),
    read: async key => pieces(key, {start: 0, end: await sizeOf(key)}),
    readRange: pieces,
    remove,
    async removeAll(folder) {
      for await (const found of list(folder))
        for (let at = 0; at < found.length; at += deletesAtOnce)
          await Promise.all(found.slice(at, at + deletesAtOnce).map(({key}) => remove(key)))
    },
    async *list(folder) {
      for await (const found of list(folder)) yield* found
    },
    exists: key =>
      sizeOf(key).then(
        () => true,
        error => {
          if (error instanceof StorageMissing) return false
          throw error
        },
      ),
    size: sizeOf,
    sweepTemporary: () => sweepUploads(open, Bucket),
  }
}

const connect = async ({region, endpoint, accessKeyId, secretAccessKey}: S3Config) => {
  const s3 = await import('@aws-sdk/client-s3').catch(cause => {
    throw new Error('S3 storage needs the packages @aws-sdk/client-s3 and @aws-sdk/lib-storage. Run npm ci to install them', {
      cause,
    })
  })
  const client = new s3.S3Client({
    region,
    credentials: {accessKeyId, secretAccessKey},
    maxAttempts: mostAttempts,
    // Stores other than Amazon's support buckets in the path, but not the newer checksums.
    ...(endpoint !== undefined && {endpoint, forcePathStyle: true}),
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {connectionTimeout: connectWithinMs, socketTimeout: idleMs},
  })
  return {client, s3}
}

type Open = () => Promise<{client: S3Client; s3: typeof import('@aws-sdk/client-s3')}>

/** Uploads a large object in parts; the object appears with the last part. If the stream fails, the parts are removed. */
const putWhole = async (open: Open, place: {Bucket: string; Key: string}, stream: AsyncIterable<Uint8Array>) => {
  const {client} = await open()
  const {Upload} = await import('@aws-sdk/lib-storage')
  let bytes = 0
  const counted = async function* () {
    for await (const chunk of stream) {
      bytes += chunk.length
      yield chunk
    }
  }
  const Body = Readable.from(counted(), {objectMode: false})
  await new Upload({client, params: {...place, Body}, partSize: pieceBytes, queueSize: 2}).done()
  return bytes
}

/** Streams an object in pieces. The first piece is fetched before the function returns, so that the function throws if the object is missing. */
const streamOf = async (read: (start: number, end: number) => Promise<Buffer>, {start, end}: {start: number; end: number}) => {
  const pieceAt = (at: number) => read(at, Math.min(end, at + pieceBytes))
  const first = start < end ? await pieceAt(start) : null
  const all = async function* () {
    if (!first) return
    yield first
    for (let at = start + pieceBytes; at < end; at += pieceBytes) yield await pieceAt(at)
  }
  return Readable.from(all(), {objectMode: false})
}

async function* listObjects(open: Open, where: {Bucket: string; Prefix: string}): AsyncGenerator<StorageObject[]> {
  const {client, s3} = await open()
  for (let ContinuationToken: string | undefined; ; ) {
    const page = await client.send(new s3.ListObjectsV2Command({...where, ...(ContinuationToken && {ContinuationToken})}))
    const found = (page.Contents ?? []).flatMap(({Key: key, LastModified, Size: bytes = 0}) =>
      key ? {key, modifiedAt: LastModified ?? new Date(), bytes} : [],
    )
    if (found.length) yield found
    if (!page.IsTruncated || !page.NextContinuationToken) return
    ContinuationToken = page.NextContinuationToken
  }
}

const sweepUploads = async (open: Open, Bucket: string) => {
  const {client, s3} = await open()
  const before = Date.now() - leftoverMs
  let swept = 0
  let next: {KeyMarker?: string; UploadIdMarker?: string} = {}
  for (let page = 0; page < mostPages; page++) {
    const {Uploads = [], ...rest} = await client.send(new s3.ListMultipartUploadsCommand({Bucket, ...next}))
    for (const {Key = '', UploadId, Initiated} of Uploads) {
      if (!ownKey.test(Key) || !Initiated || Initiated.getTime() >= before) continue
      await client.send(new s3.AbortMultipartUploadCommand({Bucket, Key, UploadId}))
      swept++
    }
    if (!rest.IsTruncated || !rest.NextKeyMarker) break
    next = {KeyMarker: rest.NextKeyMarker, ...(rest.NextUploadIdMarker && {UploadIdMarker: rest.NextUploadIdMarker})}
  }
  return swept
}

const missingOr = async <T>(key: string, act: () => Promise<T>): Promise<T> => {
  try {
    return await act()
  } catch (error) {
    const {name, $metadata} = error as {name?: string; $metadata?: {httpStatusCode?: number}}
    throw name === 'NoSuchKey' || name === 'NotFound' || $metadata?.httpStatusCode === 404
      ? new StorageMissing(key, {cause: error})
      : new StorageFailed(error)
  }
}
