import {setTimeout as sleep} from 'node:timers/promises'
import type {CrmRecord} from '../../../shared/crm/crm.ts'
import type {PlannedValues} from '../../../shared/runs/results/planned-values.ts'
import {listEnds, OUTCOMES} from '../../../sql/run-log.ts'
import {listWrittenAt} from '../../../sql/undo.ts'
import type {Context} from '../context.ts'
import {valuesOf} from '../dry-run/plan-values.ts'
import {readById} from '../match/read-by-id.ts'
import type {BatchKind, ImportRow} from '../model.ts'
import type {RowWindow} from '../read/window.ts'
import {assertWritable, backOffMs} from '../send/crm-retry.ts'
import {sendBatch} from '../send/send-batch.ts'
import {emptySettlement} from '../settle/settler.ts'
import type {NextStep, Op} from '../settle/verdict.ts'
import {decideUndo, STAMPS, type UndoPlan} from './decide-undo.ts'
import type {UndoRecord, UndoSource} from './undo-source.ts'
import {logDone, logKept, type UndoRow} from './undo-verdict.ts'

export type UndoPass = {ctx: Context; source: UndoSource; window: RowWindow}

/** The kind of the write of each plan. */
const KINDS = {restore: 'update', delete: 'delete', undelete: 'undelete'} as const satisfies Record<string, BatchKind>

/** Makes the row of a record for a batch. It counts no rows of the plan. */
export const rowOf = (no: number, undone: UndoRecord): UndoRow => {
  const [{key, number}] = undone.rows as [UndoRecord['rows'][number]]
  return {
    ...{no, undone, kept: [], key, number, payload: {}, matchKey: null, lockKeys: [], matches: [], hasUniqueKey: false, isMetered: false},
    ...{attempt: 0, unansweredSends: 0, unansweredCreates: 0, decided: null, counted: null, open: false},
  }
}

/** Undoes records of one flow and effect, at most a hundred: read, decide, intent, write, settle. Repeats for writes without an answer. */
export const undoBatch = async (pass: UndoPass, rows: UndoRow[]): Promise<void> => {
  let open = await resumeRows(pass, rows)
  for (let round = 1; open.length > 0; round++) {
    assertWritable(pass.ctx)
    await waitForLateUpdates(pass, open)
    const [{undone}] = open as [UndoRow]
    const records = undone.effect === 'unknown' ? new Map<string, CrmRecord>() : await readRecords(pass, open)
    const plans = await decide(pass, open, records)
    await settlePlans(pass, plans, records)
    const writes = pass.ctx.run.dryRun ? [] : open.filter(row => isWrite(plans.get(row)!))
    open = writes.length > 0 ? await write(pass, writes, plans, records) : []
    if (open.length > 0) await sleep(backOffMs(round), undefined, {signal: pass.ctx.signal})
  }
}

type Plans = ReadonlyMap<UndoRow, UndoPlan>
const isWrite = (plan: UndoPlan): plan is UndoPlan & {do: keyof typeof KINDS} => plan.do in KINDS

/** Continues rows of an earlier owner. Rows that it settled leave the window; of the others, it may have sent some without an answer. */
const resumeRows = async ({ctx, window}: UndoPass, rows: UndoRow[]): Promise<UndoRow[]> => {
  if (ctx.lease.fence === 1) return rows
  const ends = new Map<string, {outcome: number; attempt: number}>()
  for (const [flow, undone] of Map.groupBy(
    rows.flatMap(row => row.undone.rows),
    row => row.flow,
  )) {
    const found = await listEnds(ctx.db, {run: ctx.run.no, flow, numbers: undone.map(({number}) => number)})
    for (const {number, outcome, attempt} of found) ends.set(`${flow} ${number}`, {outcome, attempt})
  }
  return rows.filter(row => {
    for (const one of row.undone.rows) {
      const end = ends.get(`${one.flow} ${one.number}`)
      if (!end) continue
      one.counted = OUTCOMES[end.outcome]!
      row.attempt = Math.max(row.attempt, end.attempt)
      if (one.counted === 'unanswered') row.unansweredSends = 1
    }
    const isDone = row.undone.rows.some(({counted}) => counted !== null && counted !== 'unanswered')
    if (isDone) window.leave(row.no)
    return !isDone
  })
}

/** Waits until the CRM can no longer execute earlier writes of these records, so that a read shows their result. */
const waitForLateUpdates = async ({ctx}: UndoPass, rows: UndoRow[]) => {
  if (ctx.run.dryRun) return
  const waitMs = Math.max(...rows.map(({undone}) => ctx.lateUpdates.waitMs(undone.recordId, '')))
  for (const until = performance.now() + waitMs; performance.now() < until; ) {
    assertWritable(ctx)
    await sleep(Math.min(1_000, until - performance.now()), undefined, {signal: ctx.signal})
  }
}

const readRecords = ({ctx}: UndoPass, rows: UndoRow[]): Promise<Map<string, CrmRecord>> => {
  const [{undone}] = rows as [UndoRow]
  const fields = [...new Set([...STAMPS, ...rows.flatMap(({undone: {sent}}) => Object.keys(sent))])]
  return readById(ctx, undone.flow, {ids: rows.map(({undone: {recordId}}) => recordId), fields})
}

const decide = async ({ctx, source}: UndoPass, rows: UndoRow[], records: Map<string, CrmRecord>): Promise<Plans> => {
  const [{undone}] = rows as [UndoRow]
  const written = new Map<string, number>()
  if (undone.effect === 'delete') {
    const keys = rows.flatMap(row => row.undone.rows.map(({key}) => key))
    const found = await listWrittenAt(ctx.db, {chain: source.chain, module: undone.flow.module.no, keys})
    for (const {recordId, writtenAt} of found) written.set(recordId, Date.parse(writtenAt))
  }
  const user = ctx.connection.connector.crmUserId
  return new Map(
    rows.map(row => {
      const {recordId} = row.undone
      const facts = {record: records.get(recordId), writtenAt: written.get(recordId) ?? null, user}
      return [row, decideUndo(row.undone, {...facts, wasSent: row.unansweredSends > 0, isForced: ctx.run.undoForce})]
    }),
  )
}

/** Settles rows that need no write, and in a dry run all rows. */
const settlePlans = async ({ctx, window}: UndoPass, plans: Plans, records: Map<string, CrmRecord>) => {
  const settled = emptySettlement()
  const over: UndoRow[] = []
  const values: PlannedValues[] = []
  for (const [row, plan] of plans) {
    row.kept = plan.kept
    if (plan.do === 'skip') logKept(settled, row, plan)
    else if (plan.do === 'done') logDone(settled, row, plan.code)
    else if (ctx.run.dryRun) {
      logDone(settled, row, plan.do === 'delete' ? 'DELETED' : 'RESTORED', 'planned')
      if (plan.do === 'restore') values.push(...planValues(row, plan.payload, records.get(row.undone.recordId)))
    } else continue
    over.push(row)
  }
  if (over.length === 0) return
  if (ctx.run.dryRun) await ctx.values.keep(values)
  settled.leave = () => {
    for (const {no} of over) window.leave(no)
  }
  ctx.lease.lost.throwIfAborted()
  await ctx.settler.settle(settled)
}

const planValues = ({undone}: UndoRow, payload: Record<string, unknown>, record: CrmRecord | undefined) =>
  undone.rows.slice(0, 1).map(({number}) => valuesOf(undone.flow, {number, payload} as ImportRow, record ?? null))

/** Stores the images and sends one batch. Returns the rows to read again. */
const write = async ({ctx, window}: UndoPass, rows: UndoRow[], plans: Plans, records: Map<string, CrmRecord>): Promise<UndoRow[]> => {
  const [first] = rows as [UndoRow]
  const kind = KINDS[(plans.get(first) as UndoPlan & {do: keyof typeof KINDS}).do]
  const ops = rows.map((row): Op => {
    const plan = plans.get(row)!
    row.payload = plan.do === 'restore' ? plan.payload : {}
    return {row, target: row.undone.recordId}
  })
  await keepImages(ctx, rows, records)
  const {nestedFlows: _, ...compiled} = first.undone.flow
  const unmodifiedSince = kind === 'update' && isStrict(ctx) ? findNewest(rows, records) : null
  const flow = {...compiled, judge: 'undo' as const, options: {}, unmodifiedSince}
  const {next, unsent, ending} = await sendBatch(ctx, flow, kind, ops, {
    leave: row => window.leave((row as UndoRow).no),
    ...{heard: () => {}, leaving: () => {}, change: async () => {}, resending: () => false},
  })
  if (ending) throw ending
  return [...unsent.map(({row}) => row as UndoRow), ...listAgain(next)]
}

/** Whether the CRM refuses a write of records that changed since a time. The doctor finds it out. */
export const isStrict = ({connection}: Pick<Context, 'connection'>) =>
  connection.unmodifiedSince === 'whole' || connection.unmodifiedSince === 'record'

/** Returns when the newest of these records changed. A later edit of any of them has a later time, unless it is of the same second. */
const findNewest = (rows: UndoRow[], records: Map<string, CrmRecord>) =>
  Math.max(...rows.map(({undone}) => Date.parse(String(records.get(undone.recordId)?.Modified_Time))))

const listAgain = (next: Map<ImportRow, NextStep>) => [...next].flatMap(([row, step]) => (step === 'again' ? [row as UndoRow] : []))

/** Stores what the writes replace, so that the undo can be undone. A write that is sent again has its image already. */
const keepImages = async ({images}: Context, rows: UndoRow[], records: Map<string, CrmRecord>) => {
  await images?.keep(
    rows
      .filter(({unansweredSends}) => unansweredSends === 0)
      .map(({undone, key, number, payload}) => {
        const record = records.get(undone.recordId)
        const isDelete = undone.effect === 'delete'
        const before = Object.fromEntries(Object.keys(payload).map(name => [name, record?.[name] ?? null]))
        return {
          ...{row: number, key, flow: undone.flow.no, module: undone.flow.module.no, recordId: undone.recordId, phase: 'write' as const},
          ...{before, sent: isDelete ? null : payload},
        }
      }),
  )
}
