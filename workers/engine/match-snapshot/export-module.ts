import {randomUUID} from 'node:crypto'
import {setTimeout as sleep} from 'node:timers/promises'
import type {BulkRead, BulkReadPage, BulkReadStatus} from '../../../shared/crm/bulk/bulk-read.ts'
import {atPoint} from '../../../shared/fault-point.ts'
import {exportFileSeals} from '../../../shared/runs/file-seal.ts'
import {StorageMissing} from '../../../shared/storage/storage.ts'
import {type ExportPart, insertExportPart, listExportParts, nameExportPart} from '../../../sql/match-exports.ts'
import {findFreshSize} from '../../../sql/module-sizes.ts'
import {insertLoose} from '../../../sql/segments.ts'
import {type Context, withSignal} from '../context.ts'
import type {CompiledFlow} from '../model.ts'
import {pauseIfStorageFailed} from '../run-endings.ts'
import {callBulkUnlessRefused} from '../send/crm-retry.ts'
import {countModule} from './count-module.ts'
import {makeFileKey, type OpenedFile, openSealedStream, sealStream} from './sealed-file.ts'

/** The CRM refused or lost the export, the export failed or took too long, or its stored file is gone. The flow matches by queries instead. */
export class ExportUnusable extends Error {
  override name = 'ExportUnusable'
}

const [firstPollMs, longestPollMs, longestJobMs] = [5_000, 60_000, 3_600_000] as const

/** One page of an export. `askedMs`: when its job was requested, in ms since 1970. */
export type ExportedPage = {askedMs: number; file: OpenedFile}

/**
 * Yields the decrypted pages of a module's export. The caller closes each page. Prepares the next page while the caller reads one. Reuses pages and
 * jobs of an earlier owner of the run. A record that moves to another page meanwhile may be missing, so the caller queries the CRM for rows that the
 * export does not match.
 */
export async function* exportModule(ctx: Context, flow: CompiledFlow, fields: string[]): AsyncGenerator<ExportedPage> {
  const {db, run} = ctx
  const begun = [...(await listExportParts(db, {run: run.no, flow: flow.no}))]
  const parts = begun.length > 0 ? begun : await startKnownPages(ctx, flow, fields)
  const closing = new AbortController()
  const open = (no: number, page: BulkReadPage | null) => {
    const opening = openPage(withSignal(ctx, closing.signal), flow, no, parts[no] ?? page)
    // The error is thrown where the page is awaited. Until then, Node must not report an unhandled rejection.
    opening.catch(() => {})
    return opening
  }
  let no = 0
  let ahead = open(no, {module: flow.module.apiName, fields})
  try {
    for (let page = await ahead; page; page = await ahead) {
      ahead = open(++no, page.nextPage === null ? null : {pageToken: page.nextPage})
      yield page
    }
  } catch (error) {
    if (error instanceof StorageMissing) throw new ExportUnusable('The stored export is gone')
    pauseIfStorageFailed(error)
  } finally {
    closing.abort()
    await ahead.then(
      page => page?.file.close(),
      () => {},
    )
  }
}

type OpenedPage = ExportedPage & {nextPage: string | null}

/**
 * Opens a page: reads its stored file. If the file is not stored yet, waits for the job of the page, and starts the job if there is none.
 * Null: there is no further page.
 */
const openPage = async (
  ctx: Context,
  flow: CompiledFlow,
  no: number,
  wanted: ExportPart | BulkReadPage | null,
): Promise<OpenedPage | null> => {
  if (!wanted) return null
  const started = 'job' in wanted ? wanted : await startPart(ctx, flow, no, wanted)
  const part = started.key ? started : await storePart(ctx, flow, started)
  const key = exportFileSeals.open(ctx.config.SECRETS_KEYS, ctx.run.id, part.sealed!)
  const file = await openSealedStream(await ctx.storage.read(part.key!), key)
  return {askedMs: part.askedMs, file, nextPage: part.nextPage}
}

const bulkReadOf = ({connection}: Context): BulkRead => connection.bulkRead!

const startPart = async (ctx: Context, flow: CompiledFlow, part: number, page: BulkReadPage): Promise<ExportPart> => {
  const started = await startUnlessRefused(ctx, flow, part, page)
  if (started === null) throw new ExportUnusable('The CRM refuses to export this module')
  return started
}

const startUnlessRefused = async (ctx: Context, flow: CompiledFlow, part: number, page: BulkReadPage): Promise<ExportPart | null> => {
  const askedMs = Date.now()
  const job = await callBulkUnlessRefused(ctx, () => bulkReadOf(ctx).start(page, {signal: ctx.lease.lost}))
  if (job === null) return null
  await insertExportPart(ctx.db, {run: ctx.run.no, flow: flow.no, part, job, askedMs})
  atPoint('export_started')
  return {part, job, askedMs, nextPage: null, key: null, sealed: null}
}

/**
 * The maximum number of pages whose jobs start at once. Further pages follow one by one, because such a large module is rare and each job costs
 * credits.
 */
const mostKnownPages = 50

/**
 * Starts the jobs of all pages that the module had when its records were counted, at most `mostKnownPages`. Starts none for a single page.
 * Further pages follow by their tokens.
 */
const startKnownPages = async (ctx: Context, flow: CompiledFlow, fields: string[]): Promise<ExportPart[]> => {
  const module = flow.module.apiName
  const connector = ctx.connection.connector.id
  const records = (await findFreshSize(ctx.db, {connector, module})) ?? (await countModule(ctx, module)) ?? 0
  const pages = Math.min(mostKnownPages, Math.ceil(records / bulkReadOf(ctx).recordsPerJob))
  const parts: ExportPart[] = []
  for (let page = 1; pages > 1 && page <= pages; page++) {
    const part = await startUnlessRefused(ctx, flow, page - 1, {module, fields, page})
    if (part === null) break
    parts.push(part)
  }
  return parts
}

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
  if ((await callBulkUnlessRefused(ctx, download)) === null) throw new ExportUnusable('The CRM no longer has the export')
  const stored = {key, sealed: exportFileSeals.seal(config.SECRETS_KEYS, run.id, fileKey), nextPage: nextPageToken}
  ctx.lease.lost.throwIfAborted()
  await nameExportPart(db, {run: run.no, flow: flow.no, part: begun.part, ...stored, records: count})
  atPoint('export_stored')
  return {...begun, ...stored}
}

type DoneStatus = Extract<BulkReadStatus, {state: 'done'}>

/** Waits for the job, and holds a slot only during a poll. Throws ExportUnusable if the job fails, is unknown or takes over an hour. */
const waitForJob = async (ctx: Context, job: string): Promise<DoneStatus> => {
  const since = performance.now()
  for (;;) {
    const status = await callBulkUnlessRefused(ctx, () => bulkReadOf(ctx).check(job, {signal: ctx.lease.lost}))
    if (status?.state === 'done') return status
    if (status === null) throw new ExportUnusable('The CRM no longer has the job of the export')
    if (status.state === 'failed') throw new ExportUnusable('The export failed at the CRM')
    const passedMs = performance.now() - since
    if (passedMs > longestJobMs) throw new ExportUnusable('The CRM did not finish the export within an hour')
    await sleep(pollDelayOf(passedMs), undefined, {signal: ctx.signal})
  }
}

/** Returns the ms until the next poll: a tenth of the time that passed, but at least 5 and at most 60 seconds. */
const pollDelayOf = (passedMs: number) => Math.min(longestPollMs, Math.max(firstPollMs, passedMs / 10))
