import {randomUUID} from 'node:crypto'
import {promisify} from 'node:util'
import {gunzip, gzip} from 'node:zlib'
import {bulkFileSeals} from '../../../shared/runs/file-seal.ts'
import {type BulkJob, nameBulkRows} from '../../../sql/bulk-jobs.ts'
import {insertLoose} from '../../../sql/segments.ts'
import type {Context} from '../context.ts'
import {makeFileKey, openSealedStream, sealStream} from '../match-snapshot/sealed-file.ts'
import type {ImportRow} from '../model.ts'
import {assertOwner, pauseIfStorageFailed} from '../run-endings.ts'
import type {Op} from '../settle/verdict.ts'

/** An operation of a job as it is stored, with all that its settlement needs. */
type StoredOp = {
  target: string | null
  /** Earlier releases stored `marks` in a form that is no Buffer. */
  row: Omit<ImportRow, BinaryField | 'lockKeys' | 'known'> & {matchKey: string | null; marks?: unknown}
}
/** The fields that JSON cannot hold. The settlement packs the marks again. */
type BinaryField = 'matchKey' | 'sentDigest' | 'marks'

/** Stores the rows of a job sealed, so that a new owner of the run can settle them exactly as they were sent. */
export const storeRows = async (ctx: Context, no: number, ops: Op[]): Promise<void> => {
  const {db, config, run, storage, lease} = ctx
  const key = `${run.org}/runs/${run.id}/bulk-${randomUUID()}.ndjson.gz.sealed`
  const fileKey = makeFileKey()
  await insertLoose(db, key)
  const bytes = await promisify(gzip)(ops.map(op => `${JSON.stringify(packOp(op))}\n`).join(''))
  await storage.put(key, sealStream(asStream(bytes), fileKey)).catch(pauseIfStorageFailed)
  lease.lost.throwIfAborted()
  const sealed = bulkFileSeals.seal(config.SECRETS_KEYS, run.id, fileKey)
  assertOwner(await nameBulkRows(db, {run: run.no, no, fence: lease.fence, key, sealed, rows: ops.length}))
}

export const readStoredRows = async (ctx: Context, {key, sealed}: BulkJob): Promise<Op[]> => {
  const fileKey = bulkFileSeals.open(ctx.config.SECRETS_KEYS, ctx.run.id, sealed!)
  const opened = ctx.storage.read(key!).then(stream => openSealedStream(stream, fileKey))
  const {object, close} = await opened.catch(pauseIfStorageFailed)
  try {
    const range = {start: 0, end: await object.storage.size(object.key)}
    const chunks: Uint8Array[] = await Array.fromAsync(await object.storage.readRange(object.key, range))
    const text = (await promisify(gunzip)(Buffer.concat(chunks))).toString()
    return text.split('\n').flatMap(line => (line === '' ? [] : [unpackOp(JSON.parse(line))]))
  } finally {
    await close()
  }
}

async function* asStream(bytes: Uint8Array) {
  yield bytes
}

const packOp = ({target, row: {matchKey, lockKeys: _, known: __, sentDigest: ___, marks: ____, ...row}}: Op): StoredOp => ({
  target,
  row: {...row, matchKey: matchKey?.toString('base64') ?? null},
})

const unpackOp = ({target, row: {marks: _, ...row}}: StoredOp): Op => ({
  target,
  row: {...row, lockKeys: [], matchKey: row.matchKey === null ? null : Buffer.from(row.matchKey, 'base64')},
})
