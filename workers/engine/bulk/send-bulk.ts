import {randomBytes, randomUUID} from 'node:crypto'
import {setTimeout as sleep} from 'node:timers/promises'
import {writeBulkFile} from '../../../shared/crm/bulk/bulk-file.ts'
import {digestSecret} from '../../../shared/crm/bulk/receive-callback.ts'
import {CrmError, isCrowded, isRefusedForGood} from '../../../shared/crm/error.ts'
import {Refusal} from '../../../shared/errors.ts'
import {atPoint} from '../../../shared/fault-point.ts'
import {batchSent} from '../../../shared/telemetry/metrics/rows.ts'
import {insertBulkJob, setDone, setSent, setStarted, setUnsent, setUploaded} from '../../../sql/bulk-jobs.ts'
import {isFateUnknown, isPassing} from '../../../sql/database.ts'
import type {Context} from '../context.ts'
import type {CompiledFlow} from '../model.ts'
import {assertOwner, LeaseLost, RunPaused} from '../run-endings.ts'
import {type AdmissionHooks, type AdmittedBatches, admitOps} from '../send/admission.ts'
import type {BatchSlot} from '../send/batch-slot.ts'
import {assertWritable, backOffMs, callBulkUnlessRefused, classifyRefusal, quotaExhausted} from '../send/crm-retry.ts'
import {endByRefusal} from '../send/request-refusal.ts'
import type {BatchHooks, BatchResult} from '../send/send-batch.ts'
import {putBack} from '../settle/settle-answers.ts'
import {awaitJob, holdDeadline, sayFailedJob} from './await-job.ts'
import {type BulkContent, type BulkRows, composeBulk} from './bulk-batches.ts'
import type {BulkRoute} from './choose-write.ts'
import {settleJob} from './settle-job.ts'
import {storeRows} from './stored-rows.ts'

/** A slot that is never held. The calls of a bulk job take their own slots, one after another. */
const noSlot: BatchSlot = {granted: async () => {}, give() {}, again: async () => {}}

/** `over`: aborts when the pass ends, which ends the wait for the job. */
type SendHooks = AdmissionHooks & Pick<BatchHooks, 'leave' | 'leaving'> & {over: AbortSignal}

/**
 * The result of a bulk batch. `offWhy`: why record calls must write the further rows of the flow; null if bulk jobs may. `hasWaited`: whether
 * the rows waited for a job, so that people may have edited their records meanwhile.
 */
export type BulkResult = BatchResult & {offWhy: string | null; hasWaited: boolean}

/**
 * Writes rows by one job of the CRM: intent, rows in storage, upload, job, wait, settlement. If the wait ends early, the job stays open for the
 * next owner of the run.
 */
export const sendBulk = async (ctx: Context, flow: CompiledFlow, route: BulkRoute, rows: BulkRows, on: SendHooks): Promise<BulkResult> => {
  const {db, run, lease} = ctx
  const [fileName, secret] = [`rows-${randomUUID()}.csv`, randomBytes(32).toString('base64url')]
  const about = {
    run: run.no,
    fence: lease.fence,
    flow: flow.no,
    operation: rows.kind,
    fileName,
    rows: rows.ops.length,
    secret: digestSecret(secret),
  }
  const no = await insertBulkJob(db, about)
  if (no === null) throw new LeaseLost('Another owner took the run')
  const job = {no, fileName, operation: rows.kind, callbackUrl: callbackUrlOf(ctx, secret)}
  const admitted = await admitOps(ctx, flow, rows.kind, rows.ops, noSlot, {...on, bulkJob: job.no})
  const giveBack = async (): Promise<BulkResult> => {
    lease.lost.throwIfAborted()
    await putBack(ctx, flow, admitted)
    assertOwner(await setDone(db, {run: run.no, no, fence: lease.fence, isAbandoned: false}))
    return {next: new Map(), unsent: rows.ops, ending: null, offWhy: null, hasWaited: false}
  }
  // Near the row limit, so few rows may be admitted that record calls cost less.
  if (!route.isForced && admitted.ops.length < route.leastRows) return giveBack()
  const content = composeBulk(route, flow, {...rows, ops: admitted.ops})
  atPoint('bulk_intended')
  const requested = await requestJob(ctx, flow, rows.kind, {job, admitted, content}, on).catch(
    (error: Error): RequestResult => ({unsent: error}),
  )
  if ('job' in requested) {
    batchSent(rows.kind)
    const awaited = await awaitJob({...ctx, signal: AbortSignal.any([ctx.signal, on.over])}, job, requested.job)
    const settled = await settleJob(ctx, flow, {no, kind: rows.kind, ...awaited}, {...admitted, keys: content.keys}, on.leave)
    return {...settled, unsent: [...settled.unsent, ...admitted.left], offWhy: sayFailedJob(awaited), hasWaited: true}
  }
  if ('open' in requested) throw requested.open
  const unsent = await giveBack()
  return 'refused' in requested ? {...unsent, offWhy: requested.refused} : {...unsent, ending: requested.unsent}
}

/**
 * Returns the address of the callback. Null: the address is neither https, which the CRM requires, nor local. If there is no callback and
 * the creation of the job is not answered, the run waits and then sends the rows again.
 */
const callbackUrlOf = ({config}: Context, secret: string): string | null => {
  const {protocol, hostname} = new URL(config.PUBLIC_URL)
  const isReachable = protocol === 'https:' || ['127.0.0.1', 'localhost', '[::1]'].includes(hostname)
  return isReachable ? `${config.PUBLIC_URL.replace(/\/$/, '')}/bulk-callbacks/${secret}` : null
}

/**
 * `job`: the id of the job; null if the answer was lost. `refused`: why the CRM refuses the file or the job. `unsent`: no job started, and
 * why the run must pause or stop. `open`: the job may have started, but this process cannot continue.
 */
type RequestResult = {job: string | null} | {refused: string} | {unsent: Error} | {open: Error}
type JobRequest = {job: {no: number; fileName: string; callbackUrl: string | null}; admitted: AdmittedBatches; content: BulkContent}

const requestJob = async (
  ctx: Context,
  flow: CompiledFlow,
  kind: BulkRows['kind'],
  {job, admitted, content}: JobRequest,
  on: SendHooks,
): Promise<RequestResult> => {
  const {connection, db, run, lease} = ctx
  const {columns, records} = content
  await holdDeadline(ctx, job)
  await storeRows(ctx, job.no, admitted.ops)
  atPoint('bulk_composed')
  const zip = await writeBulkFile(job.fileName, columns, records)
  const upload = () => connection.bulkWrite!.upload(zip, {signal: lease.lost})
  const fileId = await callBulkUnlessRefused(ctx, upload)
  if (fileId === null) return {refused: 'The CRM refuses the file'}
  assertOwner(await setUploaded(db, {run: run.no, no: job.no, fence: lease.fence, fileId}))
  atPoint('bulk_uploaded')
  const findBy = kind === 'create' ? columns[0]!.apiName : 'id'
  return startJob(ctx, job.no, on, {
    operation: kind === 'create' ? 'insert' : 'update',
    module: flow.module.apiName,
    fileId,
    fileName: job.fileName,
    findBy,
    columns,
    layout: flow.options?.layout ?? null,
    ignoresEmpty: kind === 'create',
    callbackUrl: job.callbackUrl,
  })
}

const mostTries = 6
const longestWaitMs = 10_000
type StartRequest = Parameters<NonNullable<Context['connection']['bulkWrite']>['start']>[0]

/** Requests the job. Retries while the CRM answers that it did nothing and asks to retry soon. */
const startJob = async (ctx: Context, no: number, on: SendHooks, request: StartRequest): Promise<RequestResult> => {
  const {slots} = ctx
  for (let tried = 1; ; tried++) {
    await slots.small.take(ctx.signal)
    const result = await startOnce(ctx, no, on, request).finally(() => slots.small.give())
    if (!('crm' in result)) return result
    if (isCrowded(result.crm)) await slots.cut()
    if (tried >= mostTries)
      return {unsent: new RunPaused('RATE_LIMITED', 'The CRM limits the request rate. The run resumes automatically', 30)}
    await sleep(Math.min(longestWaitMs, backOffMs(tried, result.crm.retryAfterMs)), undefined, {signal: ctx.signal})
  }
}

/** Requests the job once. Returns a CrmError if the CRM did nothing and the request may be repeated. */
const startOnce = async (ctx: Context, no: number, on: SendHooks, request: StartRequest): Promise<RequestResult | CrmError> => {
  const {connection, db, run, lease} = ctx
  const owned = {run: run.no, no, fence: lease.fence}
  assertWritable(ctx)
  const since = performance.now()
  await holdDeadline(ctx, {no})
  assertOwner(await setSent(db, owned))
  on.leaving()
  let hasLeft = false
  const mayLeave = () => {
    const isAllowed = lease.maySend(since)
    hasLeft ||= isAllowed
    return isAllowed
  }
  try {
    const job = await connection.bulkWrite!.start(request, {signal: lease.lost, mayLeave})
    atPoint('bulk_answered')
    await keepStarted(ctx, {...owned, job})
    atPoint('bulk_started')
    return {job}
  } catch (error) {
    if (error instanceof CrmError && isLost(error)) return {job: null}
    const isOther = !(error instanceof CrmError) && !(error instanceof Refusal)
    if (isOther && hasLeft) return {open: error as Error}
    assertOwner(await setUnsent(db, owned))
    // The request was not sent. Postgres may, for example, have failed to return the access token.
    if (isOther) return {unsent: error as Error}
    if (error instanceof Refusal) return {unsent: await classifyRefusal(ctx, error)}
    const {crm, message} = error
    if (isRefusedForGood(error)) return {refused: `The CRM refuses the job: ${crm.code ?? message}`}
    if (crm.quotaSpent) return {unsent: quotaExhausted()}
    // The refused access token. Any other permanent refusal was handled above.
    return crm.retryable ? error : {unsent: endByRefusal(crm, run)}
  }
}

/**
 * Stores the id of the job. Retries until the lease is lost, because the CRM lists no jobs: without the id, the run waits for a callback and
 * may send the rows again.
 */
const keepStarted = async ({db, lease, log}: Context, started: Parameters<typeof setStarted>[1]): Promise<void> => {
  for (let delayMs = 50; ; delayMs = Math.min(delayMs * 2, 1_000)) {
    const stored = await setStarted(db, started).catch((error: unknown) => {
      lease.lost.throwIfAborted()
      if (!isFateUnknown(error) && !isPassing(error)) throw error
      log.warn({err: error}, 'retrying to store the id of a bulk job')
      return null
    })
    if (stored !== null) return assertOwner(stored)
    await sleep(delayMs, undefined, {signal: lease.lost})
  }
}

/** Whether the CRM may have started the job. */
const isLost = ({crm}: CrmError): boolean => crm.unanswered || (crm.retryable && !crm.rateLimited && !crm.quotaSpent)
