import {readRun} from '../../../shared/runs/names.ts'
import {listEndsOfKeys, OUTCOMES} from '../../../sql/run-log.ts'
import {listSends} from '../../../sql/sends.ts'
import {listOpenKinds} from '../../../sql/unsettled.ts'
import type {LedgerContext} from '../context.ts'
import {type ImportRow, STEP_CODES} from '../model.ts'
import {logOutcome} from '../settle/log-entries.ts'
import {emptySettlement} from '../settle/settler.ts'
import {resendSafe} from '../settle/verdict.ts'

const LOST = 'The worker that sent the row ended before the CRM answered'

type Send = Awaited<ReturnType<typeof listSends>>[number]

/**
 * Settles the batches that an earlier owner, or a failed step of this process, left in flight. Call it while no batch is in progress. The
 * CRM may have executed the batches, so their rows are logged as unanswered; returns the number of these rows. Their records may have the sent
 * values, so the marks of these values are added. `piecewise`: a batch that cannot be settled as a whole is settled row by row, and the failing
 * rows stay in flight. `keepsJobs`: batches of requested bulk jobs stay open, because their result will be read.
 */
export const settleOpenSends = async (ctx: LedgerContext, {piecewise = false, keepsJobs = false} = {}): Promise<number> => {
  let rows = 0
  const sends = await listSends(ctx.db, ctx.run.no)
  const modules = sends.some(({marks}) => marks?.some(Boolean)) ? (await readRun(ctx.db, ctx.run)).names.modules : []
  for (const send of sends) {
    if (send.isBulkSent === false) await putBack(ctx, send)
    if (send.isBulkSent === false || (send.isBulkSent && keepsJobs)) continue
    const all = [...send.keys.keys()]
    const moduleName = modules.find(({no}) => no === send.module)?.apiName
    const open = {...send, moduleName}
    const telling = settleSend(ctx, open, all, send.batch)
    rows += await (piecewise ? telling.catch(error => settleRowByRow(ctx, open, all, error)) : telling)
  }
  return rows
}

/** Releases the rows of a bulk job that was never requested, because they were never sent. */
const putBack = (ctx: LedgerContext, {batch, module, flow, keys, numbers}: Send) =>
  ctx.settler.settle({
    ...emptySettlement(batch),
    released: keys.map((key, at) => ({module, flow, key, number: numbers[at]!})),
    isProgress: false,
  })

/** `moduleName`: the API name of the module, if the send has marks. */
type OpenSend = Send & {moduleName: string | undefined}

const settleSend = async (ctx: LedgerContext, send: OpenSend, places: number[], batch: number | null): Promise<number> => {
  const {flow, module, kind, keys, numbers, attempts, targets, hasUniqueKeys, digests, marks, moduleName} = send
  const {run, chain} = ctx
  const isUndo = run.undoOf !== null
  const named = {run: run.no, chain, module, keys: places.map(at => keys[at]!)}
  // An undo counts a row once for each record.
  const nameOf = (key: string, recordId: string | null) => (isUndo ? `${key} ${recordId}` : key)
  // Rows of an undo, and subform rows that are written again with their record, may have no unsettled entry. The log then says how they are counted.
  const ends = isUndo || kind === STEP_CODES.replace ? await listEndsOfKeys(ctx.db, {...named, byRecord: isUndo}) : []
  const counted = new Map(ends.map(({key, recordId, outcome}) => [nameOf(key, recordId), OUTCOMES[outcome]!]))
  // A row may have an unsettled entry for an earlier record. If the log counts the row as updated since then, it stays updated.
  for (const open of isUndo ? [] : await listOpenKinds(ctx.db, named))
    if (counted.get(open.key) !== 'updated') counted.set(open.key, countedAs(open.kind))
  const settled = {...emptySettlement(...(batch === null ? [] : [batch])), isProgress: false}
  for (const at of places) {
    const [key, number, attempt, target] = [keys[at]!, numbers[at]!, attempts[at]!, targets[at]!]
    const row = {key, number, counted: counted.get(nameOf(key, target)) ?? null}
    const [patchPlan, tags] = [kind === STEP_CODES.patch, kind === STEP_CODES.tag]
    const isCreate = kind === STEP_CODES.create
    // A send without a target is a create: of the row's own record, or of a parent record with the row nested. Only a create with a unique
    // key is safe to send again.
    const details = hasUniqueKeys[at] && target === null ? resendSafe(LOST) : {message: LOST}
    logOutcome({flow: {no: flow, module: {no: module}, patchPlan, tags}, settled}, row, 'unanswered', {
      attempt,
      recordId: target,
      ...details,
    })
    const entry = {module, key, flow, number, kind, target, hasUniqueKey: hasUniqueKeys[at]!, digest: digests?.[at] ?? null, attempt}
    const sent = marks?.[at]
    if (sent && moduleName && target)
      settled.marked.push({key, moduleNo: module, module: moduleName, recordId: target, marks: sent, isSure: false})
    if (!patchPlan && !tags && !isUndo) settled.opened.push({...entry, creates: Number(isCreate)})
  }
  await ctx.settler.settle(settled)
  return places.length
}

/** Settles a batch row by row. If a row cannot be settled, its batch stays in the ledger for inspection. */
const settleRowByRow = async (ctx: LedgerContext, send: OpenSend, places: number[], why: unknown): Promise<number> => {
  const {lease, log} = ctx
  const untold: number[] = []
  for (const at of places) {
    lease.lost.throwIfAborted()
    await settleSend(ctx, send, [at], null).catch(() => untold.push(send.numbers[at]!))
  }
  lease.lost.throwIfAborted()
  if (untold.length === 0) await ctx.settler.settle({...emptySettlement(send.batch), isProgress: false})
  else log.error({err: why, batch: send.batch, rows: untold}, 'could not settle in-flight rows')
  return places.length - untold.length
}

/** Returns the outcome under which a row with an unsettled entry is counted. A row that is to be planned again was refused. */
export const countedAs = (kind: number): NonNullable<ImportRow['counted']> => (kind === STEP_CODES.again ? 'refused' : 'unanswered')
