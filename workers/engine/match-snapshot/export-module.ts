import {randomUUID} from 'node:crypto'
import {setTimeout as sleep} from 'node:timers/promises'
import type {BulkRead, BulkReadPage, BulkReadStatus} from '../../../shared/crm/bulk/bulk-read.ts'
import {atPoint} from '../../../shared/fault-point.ts'
import {exportFileSeals} from '../../../shared/runs/file-seal.ts'
import {type ExportPart, insertExportPart, listExportParts, nameExportPart} from '../../../sql/match-exports.ts'
import {insertLoose} from '../../../sql/segments.ts'
import type {Context} from '../context.ts'
import type {CompiledFlow} from '../model.ts'
import {readUnlessRefused} from '../send/crm-retry.ts'
import {makeFileKey, type OpenedFile, openSealedStream, sealStream} from './sealed-file.ts'

/** The CRM cannot export the module. The run matches by queries instead. */
export class ExportUnusable extends Error {
  override name = 'ExportUnusable'
}

const [firstPollMs, longestPollMs, longestJobMs] = [5_000, 60_000, 3_600_000] as const

/** One page of an export. `askedMs`: before the CRM made it. */
export type ExportedPage = {askedMs: number; file: OpenedFile}

/**
 * Yields the pages of an export of the module, each decrypted. Pages that an earlier owner of the run stored are read from storage. A job that
 * an earlier owner started is continued.
 */
export async function* exportModule(ctx: Context, flow: CompiledFlow, fields: string[]): AsyncGenerator<ExportedPage> {
  const {db, run, storage} = ctx
  const parts = [...(await listExportParts(db, {run: run.no, flow: flow.no}))]
  let page: BulkReadPage | null = {module: flow.module.apiName, fields}
  for (let no = 0; page; no++) {
    const begun: ExportPart = parts[no] ?? (await startPart(ctx, flow, no, page))
    const part: ExportPart = begun.key ? begun : await storePart(ctx, flow, begun)
    const key = exportFileSeals.open(ctx.config.SECRETS_KEYS, ctx.run.id, part.sealed!)
    yield {askedMs: part.askedMs, file: await openSealedStream(await storage.read(part.key!), key)}
    page = part.nextPage === null ? null : {pageToken: part.nextPage}
  }
}

const bulkReadOf = ({connection}: Context): BulkRead => connection.bulkRead!

const startPart = async (ctx: Context, flow: CompiledFlow, part: number, page: BulkReadPage): Promise<ExportPart> => {
  const askedMs = Date.now()
  const job = await readUnlessRefused(ctx, () => bulkReadOf(ctx).start(page, {signal: ctx.lease.lost}), ctx.slots.small)
  if (job === null) throw new ExportUnusable('The CRM refuses to export this module')
  await insertExportPart(ctx.db, {run: ctx.run.no, flow: flow.no, part, job, askedMs})
  atPoint('export_started')
  return {part, job, askedMs, nextPage: null, key: null, sealed: null}
}

/** Waits for the job, and stores its file sealed. */
const storePart = async (ctx: Context, flow: CompiledFlow, begun: ExportPart): Promise<ExportPart> => {
  const {db, config, run, storage} = ctx
  const {count, nextPageToken} = await waitForJob(ctx, begun.job)
  const key = `${run.org}/runs/${run.id}/match-${randomUUID()}.zip.sealed`
  const fileKey = makeFileKey()
  await insertLoose(db, key)
  const download = async () => {
    await bulkReadOf(ctx).download(begun.job, bytes => storage.put(key, sealStream(bytes, fileKey)), {signal: ctx.lease.lost})
    return true
  }
  if ((await readUnlessRefused(ctx, download, ctx.slots.small)) === null) throw new ExportUnusable('The CRM no longer has the export')
  const stored = {key, sealed: exportFileSeals.seal(config.SECRETS_KEYS, run.id, fileKey), nextPage: nextPageToken}
  ctx.lease.lost.throwIfAborted()
  await nameExportPart(db, {run: run.no, flow: flow.no, part: begun.part, ...stored, records: count})
  atPoint('export_stored')
  return {...begun, ...stored}
}

type DoneStatus = Extract<BulkReadStatus, {state: 'done'}>

/** Polls the job without holding a slot. */
const waitForJob = async (ctx: Context, job: string): Promise<DoneStatus> => {
  const since = performance.now()
  for (let waitMs: number = firstPollMs; ; waitMs = Math.min(longestPollMs, waitMs * 1.5)) {
    const status = await readUnlessRefused(ctx, () => bulkReadOf(ctx).check(job, {signal: ctx.lease.lost}), ctx.slots.small)
    if (status?.state === 'done') return status
    if (status === null) throw new ExportUnusable('The CRM no longer has the job of the export')
    if (status.state === 'failed') throw new ExportUnusable('The export failed at the CRM')
    if (performance.now() - since > longestJobMs) throw new ExportUnusable('The CRM did not finish the export within an hour')
    await sleep(waitMs, undefined, {signal: ctx.signal})
  }
}
