import {setTimeout as sleep} from 'node:timers/promises'
import type {CrmRecord} from '../../../shared/crm/crm.ts'
import type {PlannedValues} from '../../../shared/runs/results/planned-values.ts'
import {listEnds, listEndsOfKeys, OUTCOMES} from '../../../sql/run-log.ts'
import {listLastWrites, listWrittenAt} from '../../../sql/undo.ts'
import type {Context} from '../context.ts'
import {valuesOf} from '../dry-run/plan-values.ts'
import {readWholeById} from '../match/read-by-id.ts'
import type {BatchKind, ImportRow} from '../model.ts'
import type {RowWindow} from '../read/window.ts'
import {assertWritable, backOffMs} from '../send/crm-retry.ts'
import {sendBatch} from '../send/send-batch.ts'
import {emptySettlement} from '../settle/settler.ts'
import type {NextStep, Op} from '../settle/verdict.ts'
import {decideUndo, isLastChangedBy, STAMPS, type UndoPlan} from './decide-undo.ts'
import {imageOfRows, readRowRecords, releaseRecords, reserveRecords, unitOf} from './undo-rows.ts'
import type {UndoRecord, UndoSource} from './undo-source.ts'
import {keepReturned, keepWrittenAt, logDone, logKept, packRestoredMarks, type UndoRow} from './undo-verdict.ts'

export type UndoPass = {ctx: Context; source: UndoSource; window: RowWindow}

const KINDS = {restore: 'update', replace: 'replace', delete: 'delete', undelete: 'undelete'} as const satisfies Record<string, BatchKind>

export const rowOf = (no: number, undone: UndoRecord): UndoRow => {
  const [{key, number}] = undone.rows as [UndoRecord['rows'][number]]
  return {
    no,
    undone,
    kept: [],
    key,
    number,
    payload: {},
    matchKey: null,
    lockKeys: [],
    matches: [],
    hasUniqueKey: false,
    isMetered: false,
    attempt: 0,
    unansweredSends: 0,
    unansweredCreates: 0,
    decided: null,
    counted: null,
    open: false,
  }
}

/**
 * Undoes at most a hundred records of one flow and effect: read, decide, intent, write, settle. Repeats this for records that are reserved
 * elsewhere, changed meanwhile, or got no answer.
 */
export const undoBatch = async (pass: UndoPass, rows: UndoRow[]): Promise<void> => {
  let open = await resumeRows(pass, rows)
  for (let round = 1; open.length > 0; round++) {
    assertWritable(pass.ctx)
    await waitForLateUpdates(pass, open)
    open = open[0]!.undone.effect === 'rows' ? await undoReserved(pass, open) : await undoOnce(pass, open)
    if (open.length > 0) await sleep(backOffMs(round), undefined, {signal: pass.ctx.signal})
  }
}

/** Returns the rows to read again. */
const undoOnce = async (pass: UndoPass, rows: UndoRow[]): Promise<UndoRow[]> => {
  const readAt = performance.now()
  const records = await readRecords(pass, rows)
  const plans = await decide(pass, rows, records)
  await settlePlans(pass, plans, records)
  const writes = pass.ctx.run.dryRun ? [] : rows.filter(row => isWrite(plans.get(row)!))
  return writes.length > 0 ? write(pass, writes, {plans, records, readAt}) : []
}

/** Undoes subform rows while their records are reserved. Also returns the rows whose record another run has reserved. */
const undoReserved = async (pass: UndoPass, rows: UndoRow[]): Promise<UndoRow[]> => {
  const reserved = await reserveRecords(pass.ctx, rows)
  let again = new Set<UndoRow>()
  try {
    again = new Set(await undoOnce(pass, reserved))
  } finally {
    await releaseRecords(pass.ctx, reserved, new Set([...again].filter(({unansweredSends}) => unansweredSends > 0)))
  }
  return rows.filter(row => again.has(row) || !reserved.includes(row))
}

type Plans = ReadonlyMap<UndoRow, UndoPlan>
const isWrite = (plan: UndoPlan): plan is UndoPlan & {do: keyof typeof KINDS} => plan.do in KINDS

/**
 * Continues rows of an earlier owner. Rows that the earlier owner settled leave the window and are dropped. Unanswered rows keep their count
 * of attempts.
 */
const resumeRows = async (pass: UndoPass, rows: UndoRow[]): Promise<UndoRow[]> => {
  if (pass.ctx.lease.fence === 1) return rows
  const ends = await findEnds(pass, rows)
  return rows.filter(row => {
    for (const one of row.undone.rows) {
      const end = ends.get(one)
      if (!end) continue
      one.counted = OUTCOMES[end.outcome]!
      row.attempt = Math.max(row.attempt, end.attempt)
      if (one.counted === 'unanswered') row.unansweredSends = 1
    }
    const isDone = row.undone.rows.some(({counted}) => counted !== null && counted !== 'unanswered')
    if (isDone) pass.window.leave(row.no)
    return !isDone
  })
}

/**
 * Finds how an earlier owner settled these rows. Rows of an external engine are found by key and record, because they may have no number and one row
 * may have written several records.
 */
const findEnds = async ({ctx: {db, run}, source}: UndoPass, rows: UndoRow[]) => {
  const isExternal = source.run.snapshotNo === null
  const ends = new Map<UndoRecord['rows'][number], {outcome: number; attempt: number}>()
  const named = rows.flatMap(({undone: {rows, effect, recordId}}) =>
    rows.map(row => ({row, name: isExternal ? `${row.key} ${effect === 'unknown' ? null : recordId}` : String(row.number)})),
  )
  for (const some of Map.groupBy(named, ({row: {flow, module}}) => (isExternal ? module : flow)).values()) {
    const [{row}] = some as [(typeof some)[number]]
    const found = isExternal
      ? await listEndsOfKeys(db, {run: run.no, module: row.module, keys: some.map(({row: {key}}) => key), byRecord: true})
      : await listEnds(db, {run: run.no, flow: row.flow, numbers: some.map(({row: {number}}) => number)})
    const byName = new Map(found.map(end => ['key' in end ? `${end.key} ${end.recordId}` : String(end.number), end]))
    for (const {row, name} of some) if (byName.has(name)) ends.set(row, byName.get(name)!)
  }
  return ends
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

const readRecords = async ({ctx, source}: UndoPass, rows: UndoRow[]): Promise<Map<string, CrmRecord>> => {
  const [{undone}] = rows as [UndoRow]
  if (undone.effect === 'unknown' || undone.effect === 'unkept') return new Map()
  if (undone.effect === 'rows') return readRowRecords(ctx, rows, fieldsOf(source, undone))
  const fields = [...new Set([...STAMPS, ...rows.flatMap(({undone: {sent}}) => Object.keys(sent))])]
  return readWholeById(ctx, undone.flow, {ids: rows.map(({undone: {recordId}}) => recordId), fields})
}

const fieldsOf = ({rowFields}: UndoSource, {flow}: UndoRecord) => rowFields.get(flow.module.no) ?? []

const decide = async ({ctx, source}: UndoPass, rows: UndoRow[], records: Map<string, CrmRecord>): Promise<Plans> => {
  const [{undone}] = rows as [UndoRow]
  const written = new Map<string, number>()
  if (undone.effect === 'delete') {
    const found = await listWrittenAt(ctx.db, {chain: source.chain, rows: rows.flatMap(row => row.undone.rows)})
    for (const {recordId, writtenAt} of found) written.set(recordId, Date.parse(writtenAt))
  }
  const user = ctx.connection.connector.crmUserId
  await findCreators(ctx, source, rows, records)
  return new Map(
    rows.map(row => {
      const {recordId} = row.undone
      const facts = {record: records.get(recordId), writtenAt: written.get(recordId) ?? null, user, rowFields: fieldsOf(source, row.undone)}
      const canDelete = ctx.connection.deleteRecords !== null
      return [row, decideUndo(row.undone, {...facts, canDelete, wasSent: row.unansweredSends > 0, isForced: ctx.run.undoForce})]
    }),
  )
}

/**
 * Sets `row.creator` of rows that restore values: `firstChain` and the module of the record. Null if that chain did not write the record,
 * or if the record was changed after the chain's last write.
 */
const findCreators = async ({db, connection}: Context, {firstChain: chain, flows}: UndoSource, rows: UndoRow[], records: Records) => {
  const first = rows.filter(({creator, undone: {effect}}) => creator === undefined && (effect === 'restore' || effect === 'rows'))
  if (chain === null || first.length === 0) return
  const modules = [...new Set(flows.map(({module}) => module.no))]
  const found = await listLastWrites(db, {chain, modules, records: first.map(({undone}) => undone.recordId)})
  const times = new Map(found.map(({recordId, writtenAt}) => [recordId, Date.parse(writtenAt)]))
  for (const row of first) {
    const {recordId, flow} = row.undone
    const [record, last] = [records.get(recordId), times.get(recordId)]
    const isOurs = record && last !== undefined && isLastChangedBy(record, connection.connector.crmUserId, last)
    row.creator = isOurs ? {chain, module: flow.subform?.link.flow.moduleNo ?? flow.module.no} : null
  }
}

type Records = Map<string, CrmRecord>

/** Settles the rows that need no write. In a dry run, settles all rows. */
const settlePlans = async ({ctx, window}: UndoPass, plans: Plans, records: Map<string, CrmRecord>) => {
  const settled = emptySettlement()
  const over: UndoRow[] = []
  const values: PlannedValues[] = []
  for (const [row, plan] of plans) {
    row.kept = plan.kept
    row.marks = packRestoredMarks(row)
    if (plan.do === 'skip') logKept(settled, row, plan)
    else if (plan.do === 'done') {
      logDone(settled, row, plan.code)
      const record = records.get(row.undone.recordId)
      if (row.undone.effect === 'undelete') keepReturned(settled, row, String(record!.Modified_Time))
      else if (record && isLastChangedBy(record, ctx.connection.connector.crmUserId))
        keepWrittenAt(settled, row, String(record.Modified_Time))
    } else if (ctx.run.dryRun) {
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

type Decided = {plans: Plans; records: Map<string, CrmRecord>; readAt: number}

/** Stores the before images, then sends one batch. Returns the rows to read again. */
const write = async ({ctx, source, window}: UndoPass, rows: UndoRow[], {plans, records, readAt}: Decided): Promise<UndoRow[]> => {
  const [first] = rows as [UndoRow]
  const kind = KINDS[(plans.get(first) as UndoPlan & {do: keyof typeof KINDS}).do]
  const ops = rows.map((row, at): Op => {
    const plan = plans.get(row)!
    const target = row.undone.recordId
    row.payload = plan.do === 'restore' ? plan.payload : plan.do === 'replace' ? {[plan.field]: plan.rows} : {}
    if (plan.do !== 'replace') return {row, target}
    const held = records.get(target)![plan.field] as CrmRecord[]
    return {row, target, unit: unitOf(row, {at, held, adds: plan.rows, readAt})}
  })
  await keepImages(ctx, source, rows, records)
  const {nestedFlows: _, ...compiled} = first.undone.flow
  const unmodifiedSince = kind === 'update' && isStrict(ctx) ? findNewest(rows, records) : null
  const flow = {...compiled, judge: 'undo' as const, options: {}, unmodifiedSince}
  const {next, unsent, ending} = await sendBatch(ctx, flow, kind, ops, {
    leave: row => window.leave((row as UndoRow).no),
    heard: () => {},
    leaving: () => {},
    change: async () => {},
    resending: () => false,
  })
  if (ending) throw ending
  return [...unsent.map(({row}) => row as UndoRow), ...listAgain(next)]
}

/** Whether the CRM refuses to write a record that changed after `unmodifiedSince`, as the doctor found. */
export const isStrict = ({connection}: Pick<Context, 'connection'>) =>
  connection.unmodifiedSince === 'whole' || connection.unmodifiedSince === 'record'

/** Returns the latest `Modified_Time` of these records, in ms. An edit after the read has a later time, unless it happens in the same second. */
const findNewest = (rows: UndoRow[], records: Map<string, CrmRecord>) =>
  Math.max(...rows.map(({undone}) => Date.parse(String(records.get(undone.recordId)?.Modified_Time))))

const listAgain = (next: Map<ImportRow, NextStep>) => [...next].flatMap(([row, step]) => (step === 'again' ? [row as UndoRow] : []))

/** Stores what the writes replace, so that the undo can be undone. A write that is sent again has its image already. */
const keepImages = async ({images}: Context, source: UndoSource, rows: UndoRow[], records: Map<string, CrmRecord>) => {
  await images?.keep(
    rows
      .filter(({unansweredSends}) => unansweredSends === 0)
      .map(row => {
        const {undone, key, number, payload} = row
        const record = records.get(undone.recordId)
        const place = {row: number, key, flow: undone.flow.no, module: undone.flow.module.no, recordId: undone.recordId}
        const before = Object.fromEntries(Object.keys(payload).map(name => [name, record?.[name] ?? null]))
        const values = undone.effect === 'rows' ? imageOfRows(fieldsOf(source, undone), row, record!) : {before, sent: payload}
        const undoneRows = undone.rows.map(({counted: _, ...one}) => one)
        return {
          ...place,
          phase: 'write' as const,
          ...values,
          ...(undone.effect === 'delete' && {sent: null}),
          ...(undoneRows.length > 1 && {undoneRows}),
        }
      }),
  )
}
