import type {CrmRecord} from '../../../shared/crm/crm.ts'
import {HOW} from '../../../sql/chain-rows.ts'
import {listNotedFields} from '../../../sql/run-log.ts'
import type {Context} from '../context.ts'
import {isPlannedId} from '../dry-run/planned-ids.ts'
import {formOf, readFormOf} from '../match/compare-values.ts'
import {type ChainMatches, findChainMatches} from '../match/match-rows.ts'
import {planUnchanged} from '../match/plan-rows.ts'
import {readByIdUnlessRefused} from '../match/read-by-id.ts'
import {mayBeStale} from '../match/unchanged-records.ts'
import type {CompiledFlow, EditRules, FlowField, ImportRow} from '../model.ts'
import type {RowPipeline} from '../pipeline-state.ts'
import {isDue, isSent, skipStale} from '../sealed-plan/keep-to-plan.ts'
import {countEmptyLinks, countKept, logOutcome} from '../settle/log-entries.ts'
import {emptySettlement, type SettlementParts} from '../settle/settler.ts'
import {logSkipped} from '../settle/skipped-rows.ts'
import {settleRows} from '../settle/unsent-rows.ts'
import {closeUnsettled, type Op} from '../settle/verdict.ts'
import {addEditQuestion, type ComparedUpdate, decideEdits, type EditedField} from './edit-questions.ts'
import {markConfirmed} from './mark-written.ts'
import type {WrittenValues} from './record-marks.ts'

type Update = Op & {target: string}

/**
 * Compares updates with their records and with the marks of the last written values. Removes from each update the edited values to keep, and the
 * values that the record certainly has already. Adds rows with nothing to write, and rows with a question, to the settlement, and returns them as
 * `skipped`. Call it while the rows hold the locks of their records. A second call for a row adds to the result of the first.
 */
export const keepEdits = async (
  ctx: Context,
  flow: CompiledFlow,
  updates: Op[],
  {ours, settled}: {ours: ReadonlyMap<string, ChainMatches>; settled: SettlementParts},
): Promise<{updates: Op[]; skipped: ImportRow[]}> => {
  const {edits} = flow
  // A record that a dry run would create has no edits.
  const existing = updates.filter((op): op is Update => op.target !== null && !isPlannedId(op.target))
  if (!edits || existing.length === 0) return {updates, skipped: []}
  const isShared = ({row, target}: Update) => ours.get(row.matchKey?.toString('latin1') ?? '')?.records.includes(target) === true
  const written = (await flow.marks?.list([...new Set(existing.map(({target}) => target))])) ?? new Map<string, WrittenValues>()
  const records = await readRecords(ctx, flow, edits, existing, isShared)
  const compared = existing.flatMap(op => {
    const record = records.get(op.target)
    // An update whose record is gone is sent unchanged, so that the CRM refuses it.
    return record ? [compareUpdate(edits, op, record, written.get(op.target))] : []
  })
  if (ctx.images) for (const {row, target} of existing) noteRead(row, records.get(target))
  await decideEdits(ctx, flow, compared)
  await forgetLogged(ctx, flow, compared)
  const skipped = compared.filter(update =>
    skipUpdate(ctx, flow, update, {settled, written: written.get(update.target), isShared: isShared(update)}),
  )
  const ended = new Set(skipped.map(({row}) => row))
  return {updates: updates.filter(({row}) => !ended.has(row)), skipped: [...ended]}
}

/**
 * Compares updates that waited, because their records may have changed since. Forgets the earlier read, so that the before images are read again
 * too. Settles the rows with nothing to write and returns them as `ended`.
 */
export const keepLaterEdits = async (pipeline: Pick<RowPipeline, 'ctx' | 'flow' | 'window'>, waited: Op[]) => {
  const {ctx, flow} = pipeline
  const rows = waited.map(({row}) => row)
  for (const row of rows) Object.assign(row, {known: undefined, isKnownById: false})
  const settled = emptySettlement()
  const {updates, skipped: ended} = await keepEdits(ctx, flow, waited, {ours: await findChainMatches(ctx, flow, rows), settled})
  if (ended.length > 0) await settleRows(pipeline, settled, ended)
  return {updates, ended}
}

/**
 * Returns the records with the compared fields, by id. Reads a record by id if its matched values may be old, may be cut, or are missing.
 * Values may be old after writes by this chain or by another run.
 */
const readRecords = async (
  ctx: Context,
  flow: CompiledFlow,
  {fields}: EditRules,
  updates: Update[],
  isShared: (update: Update) => boolean,
): Promise<Map<string, CrmRecord>> => {
  const isStale = await mayBeStale(ctx, flow)
  const records = new Map<string, CrmRecord>()
  const unread = new Set<string>()
  for (const update of updates) {
    const {row, target} = update
    const record = isStale || row.decided || isShared(update) ? undefined : row.known?.find(({id}) => id === target)
    const compared = Object.keys(row.payload).flatMap(name => fields.get(name) ?? [])
    if (record && compared.every(field => readFormOf(field, record[field.apiName]) !== undefined)) records.set(target, record)
    else unread.add(target)
  }
  const read = await readByIdUnlessRefused(ctx, flow, {ids: [...unread], fields: [...fields.keys()]})
  // If the CRM refuses to show the values, the option `onUnknown` of the flow decides.
  for (const id of unread) if (!read || read.has(id)) records.set(id, read?.get(id) ?? {id})
  return records
}

/** Stores the record in the row for the before image. */
const noteRead = (row: ImportRow, record: CrmRecord | undefined) => {
  if (record && row.known?.[0] !== record) Object.assign(row, {known: [record], isKnownById: true})
}

const compareUpdate = (edits: EditRules, op: Update, record: CrmRecord, written: WrittenValues | undefined): ComparedUpdate => {
  const compared: ComparedUpdate = {...op, written: [], equal: [], kept: [], asked: [], logged: []}
  for (const [name, value] of Object.entries(op.row.payload)) {
    const field = edits.fields.get(name)
    const choice = edits.choices.get(name)
    const mine = field && formOf(field, value)
    const theirs = field && readFormOf(field, record[name])
    if (mine !== undefined && mine === theirs) compared.equal.push(name)
    else if (mine === undefined || !choice) compared.written.push(name)
    else {
      const isStillEmpty = op.row.leftEmpty?.includes(name) ? theirs === '' : null
      const isAsWritten = theirs === undefined ? null : (isHeld(written, field!, {theirs, value: record[name]}) ?? isStillEmpty)
      if (isAsWritten ?? edits.onUnknown === 'write') compared.written.push(name)
      else if (isAsWritten === null || choice === 'keep') compared.kept.push(name)
      else compared.asked.push({field: name, form: theirs!})
    }
  }
  return compared
}

/**
 * Whether the record has the last written value. The field may have had more decimal places when the value was written, so the function also compares
 * the value without rounding.
 */
const isHeld = (written: WrittenValues | undefined, field: FlowField, {theirs, value}: {theirs: string; value: unknown}) => {
  const held = written?.held(field.apiName, theirs)
  return held === false && field.decimalPlaces !== null
    ? written!.held(field.apiName, readFormOf({...field, decimalPlaces: null}, value)!)
    : held
}

/** Notes in `logged` the kept edits that an earlier owner of the run logged, so that they are not logged twice. */
const forgetLogged = async ({db, run}: Context, flow: CompiledFlow, compared: ComparedUpdate[]) => {
  const open = compared.filter(({row, kept}) => (flow.patchPlan ? row.attempt > 0 : row.counted !== null) && kept.length > 0)
  if (open.length === 0) return
  const logged = await listNotedFields(db, {run: run.no, flow: flow.no, numbers: open.map(({row}) => row.number), phase: 'edit'})
  const names = new Set(logged.map(({number, field}) => `${number} ${field}`))
  for (const update of open) update.logged = update.kept.filter(field => names.has(`${update.row.number} ${field}`))
}

type SkipOptions = {settled: SettlementParts; written: WrittenValues | undefined; isShared: boolean}

/**
 * Reduces the row's payload to the values to write. Returns true if the row ends without a write. Values equal to those read are dropped, unless
 * another send may have changed the record after the read. Such a send is an earlier one of this row, a write by another row of the chain, or an
 * unanswered update. If all values are equal, no edited value is kept and `skipsUnchanged` is false, the payload stays whole.
 */
const skipUpdate = (ctx: Context, flow: CompiledFlow, update: ComparedUpdate, {settled, written, isShared}: SkipOptions): boolean => {
  const {row, target, equal, asked} = update
  // An earlier call for this row removed kept values from the payload, so the present comparison did not find those values.
  const kept = [...(row.keptEdits?.splice(0) ?? []), ...update.kept]
  if (asked.length > 0 && row.step !== undefined && !isSent(row, flow)) {
    logSkipped(ctx, flow, settled, row, {...skipStale(sayEdited(asked)), recordId: target})
    return true
  }
  if (asked.length > 0) {
    logSkip(flow, settled, update, {code: 'EDITED', message: sayEdited(asked)})
    for (const edited of asked) addEditQuestion(ctx, flow, settled, update, edited)
    return true
  }
  const unlogged = kept.filter(field => !update.logged.includes(field))
  const isUncertain = isShared || isSent(row, flow) || ctx.lateUpdates.has(target)
  const names = isUncertain ? [...update.written, ...equal] : update.written
  if (names.length === 0 && (kept.length > 0 || flow.edits!.skipsUnchanged)) {
    row.keptEdits = unlogged
    if (kept.length > 0 && isDue(row, flow))
      logSkipped(ctx, flow, settled, row, {...skipStale('A person changed the values in the CRM'), recordId: target})
    else if (kept.length > 0) {
      logSkip(flow, settled, update, {code: 'KEPT_EDIT', message: 'A person changed the values in the CRM, so they were kept'})
      if (!flow.patchPlan) countKept(settled, flow)
    } else logSkipped(ctx, flow, settled, row, planUnchanged(target))
    if (kept.length > 0 && flow.isReferenced && !flow.patchPlan)
      settled.kept.push({module: flow.module.no, key: row.key, recordId: target, how: HOW.matched, matchKey: row.matchKey})
    markConfirmed(ctx, flow, settled, update, written)
    return true
  }
  if (names.length > 0) {
    const pick = (chosen: string[]) => Object.fromEntries(chosen.map(name => [name, row.payload[name]]))
    row.confirmed = {...row.confirmed, ...pick(equal.filter(name => !names.includes(name)))}
    row.payload = pick(Object.keys(row.payload).filter(name => names.includes(name)))
  }
  row.keptEdits = unlogged
  return false
}

const sayEdited = (asked: EditedField[]) =>
  `A person changed ${asked.map(({field}) => field).join(', ')} in the CRM: answer the run's questions, then retry it`

const logSkip = (flow: CompiledFlow, settled: SettlementParts, {row, target}: Update, reason: {code: string; message: string}) => {
  logOutcome({flow, settled}, row, 'skipped', {...reason, recordId: target, attempt: row.attempt})
  if (flow.patchPlan || reason.code === 'KEPT_EDIT') countEmptyLinks(settled, flow, row)
  closeUnsettled({flow, settled}, row)
}
