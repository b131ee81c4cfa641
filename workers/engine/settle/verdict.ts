import type {RecordAnswer} from '../../../shared/crm/crm.ts'
import {type CrmProblem, describeProblem, errorsOf, findDuplicateOf} from '../../../shared/crm/error.ts'
import {madeEarlier} from '../../../shared/runs/made-earlier.ts'
import {mayExist} from '../../../shared/runs/results/row-result.ts'
import {HOW} from '../../../sql/chain-rows.ts'
import type {UnsettledEntry} from '../../../sql/ledger.ts'
import type {OutcomeName} from '../../../sql/run-log.ts'
import {markWritten} from '../edits/mark-written.ts'
import {type BatchKind, type CompiledFlow, type ImportRow, STEP_CODES, type StepKind} from '../model.ts'
import type {ClaimVerdict} from '../recover/judge-claims.ts'
import type {LateUpdates} from '../recover/late-updates.ts'
import {sentDigestOf} from '../send/payload-digest.ts'
import type {ReplaceUnit} from '../subform/subform-verdict.ts'
import {noteWritten} from '../verify/written-rows.ts'
import {type LogDetails, logMayExistTwice, logOutcome} from './log-entries.ts'
import {addSentence, addUnansweredNote, sayRefusal, sayRowRefusal} from './refusal-words.ts'
import type {KeptRow, SettlementParts} from './settler.ts'

/** An operation on one row. `target`: the record's id; null for a create. `unit`: the record whose subform rows a `replace` replaces. */
export type Op = {row: ImportRow; target: string | null; unit?: ReplaceUnit}
/** The next step of a row: it ends, is sent again unchanged, is first searched for in the CRM, or is planned again. */
export type NextStep = 'end' | 'again' | 'wait' | 'replan'

export const groupByStep = (next: ReadonlyMap<ImportRow, NextStep>): Record<NextStep, ImportRow[]> => {
  const steps: Record<NextStep, ImportRow[]> = {end: [], again: [], wait: [], replan: []}
  for (const [row, step] of next) steps[step].push(row)
  return steps
}

/** The maximum number of sends of a create without a unique key in one run. */
export const mostUnansweredSends = 3
/** The maximum number of sends of a write that is safe to repeat, within `patienceMs` after its first unanswered send. */
const mostSafeResends = 12

/** A batch and the settlement that collects its outcomes. `patienceMs` is explained at `maySendAgain`. */
type JudgedBatch = {flow: CompiledFlow; kind: StepKind; settled: SettlementParts; patienceMs: number; lateUpdates: Pick<LateUpdates, 'add'>}

/**
 * Whether a write that is safe to repeat may be sent again. Three sends are always allowed, because one short outage can cause three
 * failures. Up to twelve are allowed within `patienceMs` after the first unanswered send.
 */
export const maySendAgain = (row: Pick<ImportRow, 'unansweredSends' | 'unansweredSince'>, patienceMs: number): boolean =>
  row.unansweredSends < mostUnansweredSends ||
  (row.unansweredSends < mostSafeResends && performance.now() - (row.unansweredSince ?? 0) < patienceMs)

export const countUnanswered = (row: Pick<ImportRow, 'unansweredSends' | 'unansweredSince'>) => {
  row.unansweredSends++
  row.unansweredSince ??= performance.now()
}

/** Settles the answer for one row and returns the row's next step. `take`: the verdict on the row's claim; undefined if it claims no record. */
export const judgeAnswer = (
  judgedBatch: JudgedBatch,
  op: Op,
  answer: Exclude<RecordAnswer, {sent: false}>,
  take: ClaimVerdict | 'later' | undefined,
): NextStep => {
  const {row} = op
  row.attempt++
  if (answer.ok) return succeed(judgedBatch, op, answer)
  if (answer.crm.unanswered) return markUnanswered(judgedBatch, op, answer.crm)
  const code = answer.crm.code ?? `HTTP_${answer.crm.status}`
  if (take === 'later' || (take && !take.taken && (take.why === 'gone' || take.why === 'unclear')))
    return putOff(judgedBatch, op, code, answer.crm)
  if (take?.taken) return settleClaimed(judgedBatch, op, answer.crm, findClaimedRecord(judgedBatch.kind, op, answer)!)
  if (isMatchFound(judgedBatch, row, answer.crm, answer.duplicateOf)) {
    logAttempt(judgedBatch, row, 'refused', {recordId: op.target, code, message: sayRowRefusal(row, answer.crm)})
    judgedBatch.settled.released.push(admissionOf(judgedBatch.flow, row))
    addUnsettled(judgedBatch, {row, target: row.lostUpdate ?? null}, STEP_CODES.again)
    row.matches = [answer.duplicateOf]
    return 'replan'
  }
  const refusal = sayRowRefusal(row, answer.crm)
  const logDetails = take ? `${refusal}. This row cannot claim the record: ${WHY[take.why]}` : refusal
  const message = mayExistAlready(judgedBatch, row, take)
    ? addSentence(logDetails, mayExist)
    : addUnansweredNote(logDetails, Boolean(row.lostUpdate))
  logAttempt(judgedBatch, row, 'refused', {recordId: op.target, code, message})
  if (row.unansweredSends === 0) judgedBatch.settled.released.push(admissionOf(judgedBatch.flow, row))
  if (!take && (row.hasLostCreate || (judgedBatch.kind === 'create' && row.unansweredSends > 0)))
    addUnsettled(judgedBatch, {row, target: row.lostUpdate ?? null}, STEP_CODES.again, {ended: true})
  else closeUnsettled(judgedBatch, row)
  return 'end'
}

/**
 * Returns the record that the CRM names as the duplicate of a row whose create was lost, or null. A duplicate of the row's idempotency
 * value proves a lost create even if each send was answered, because the network may deliver one request twice.
 */
export const findClaimedRecord = (kind: BatchKind, {row}: Op, answer: RecordAnswer): string | null => {
  if (kind !== 'create' || answer.ok || !answer.sent || answer.crm.unanswered) return null
  const {idempotency} = row
  const own = idempotency ? findDuplicateOf(answer.crm, idempotency.field) : null
  if (own !== null) return own
  return row.unansweredSends > 0 || row.hasLostCreate ? answer.duplicateOf : null
}

/**
 * Whether the message of a refused create must add that an earlier create may have succeeded. If this run has no unanswered create of the row, the
 * message is needed after a lost create of an earlier run. If this run has one, the message is needed only with a unique key: without one, the log
 * entries of the unanswered creates already state it. The message is not needed if a record that the row cannot claim has the unique value, because
 * then the earlier create failed. Such a record proves nothing if its creator or creation time is unknown (`unread`).
 */
const mayExistAlready = ({kind}: JudgedBatch, row: ImportRow, take: ClaimVerdict | undefined) => {
  if (kind !== 'create') return false
  if (row.unansweredSends === 0) return row.hasLostCreate === true
  return row.hasUniqueKey && (!take || (!take.taken && take.why === 'unread'))
}

const WHY = {
  another: 'another user created it',
  earlier: 'it was created before this import began',
  gone: 'the CRM does not show it',
  unread: 'the CRM does not show who created it, or when',
  unclear: "the CRM's clock was set while the import ran",
  held: 'another row already has it',
} as const

const succeed = (judgedBatch: JudgedBatch, {row}: Op, {recordId, modifiedAt}: {recordId: string; modifiedAt?: string | null}): NextStep => {
  const created = judgedBatch.kind === 'create'
  logAttempt(judgedBatch, row, created ? 'created' : 'updated', {recordId, message: row.remarks?.join('. ') ?? null})
  const mayExistTwice = created && !row.hasUniqueKey && row.unansweredCreates > 0
  if (mayExistTwice) logMayExistTwice(judgedBatch, row, {recordId})
  keepRecord(judgedBatch, row, recordId, created ? HOW.made : HOW.updated, {mayExistTwice, writtenAt: modifiedAt})
  closeUnsettled(judgedBatch, row, recordId)
  return 'end'
}

const settleClaimed = (judgedBatch: JudgedBatch, {row}: Op, crm: CrmProblem, recordId: string): NextStep => {
  // A duplicate at the run's first send means that the CRM received the request twice. The delivery that created the record got no answer.
  const isOwnSend = row.unansweredSends === 0 && !row.hasLostCreate
  if (isOwnSend) logAttempt(judgedBatch, row, 'unanswered', resendSafe(`The CRM received the request twice. ${sayRefusal(crm)}`))
  else logAttempt(judgedBatch, row, 'refused', {code: crm.code, message: sayRefusal(crm)})
  row.attempt++
  logAttempt(judgedBatch, row, 'created', {recordId, ...madeEarlier})
  keepRecord(judgedBatch, row, recordId, HOW.taken)
  // An earlier run sent the create and counted the row, so the row's admission in this run is released.
  if (row.unansweredSends === 0 && row.hasLostCreate) judgedBatch.settled.released.push(admissionOf(judgedBatch.flow, row))
  closeUnsettled(judgedBatch, row, recordId)
  return 'end'
}

const markUnanswered = (judgedBatch: JudgedBatch, op: Op, crm: CrmProblem): NextStep => {
  const {row, target} = op
  const isCreate = judgedBatch.kind === 'create'
  countUnanswered(row)
  row.decided = {kind: judgedBatch.kind, target}
  const isSafe = isCreate && row.hasUniqueKey
  logAttempt(judgedBatch, row, 'unanswered', {
    recordId: target,
    ...(isSafe ? resendSafe(describeProblem(crm)) : {code: crm.code, message: describeProblem(crm)}),
  })
  if (isCreate) row.unansweredCreates++
  else {
    // The entry keeps the images of all records of the row, so the first one is enough.
    row.lostUpdate ??= target
    judgedBatch.lateUpdates.add(target!, row.key)
    markWritten(judgedBatch, row, target!, false)
    noteWritten(judgedBatch, row, {recordId: target!, isSure: false})
  }
  addUnsettled(judgedBatch, op, STEP_CODES[judgedBatch.kind], {
    doneSeconds: isDone(crm) ? unreadableSeconds : null,
    creates: isCreate ? 1 : 0,
  })
  if (isCreate && !row.hasUniqueKey) return 'wait'
  return maySendAgain(row, judgedBatch.patienceMs) ? 'again' : 'end'
}

export const resendSafe = (problem: string) => ({
  code: 'RESEND_SAFE',
  message: `${problem}. A unique field prevents a second record. If the row is still unanswered when the run ends, retry the run`,
})

/** Whether the CRM has executed a request whose answer is unreadable. After the status 502 or 504, the CRM may still be executing the request. */
const isDone = ({status}: CrmProblem) => status !== null && status >= 200 && status < 300

const unreadableSeconds = 10

/**
 * Puts off the decision whether the duplicate that the CRM names belongs to the row. Reasons: the CRM does not show the record, the CRM's
 * clock was moved, other runs have creates in flight, or the check failed. The unsettled entry stays open, and the row is sent again if
 * `maySendAgain` allows it.
 */
const putOff = (judgedBatch: JudgedBatch, op: Op, code: string, crm: CrmProblem): NextStep => {
  countUnanswered(op.row)
  op.row.decided = {kind: judgedBatch.kind, target: op.target}
  const message = `${sayRefusal(crm)}. We could not confirm that this record belongs to the row. If the run ends without a result, retry it`
  logAttempt(judgedBatch, op.row, 'unanswered', {recordId: op.target, ...(op.row.hasUniqueKey ? {code: 'RESEND_SAFE'} : {code}), message})
  addUnsettled(judgedBatch, op, STEP_CODES[judgedBatch.kind])
  return maySendAgain(op.row, judgedBatch.patienceMs) ? 'again' : 'end'
}

/**
 * Whether the CRM names a record with this row's match value that the search did not find. The row is then planned again with that record. False for
 * a record that the row matches already, because the plan would be the same.
 */
const isMatchFound = ({kind, flow}: JudgedBatch, row: ImportRow, crm: CrmProblem, duplicateOf: string | null): duplicateOf is string =>
  kind === 'create' &&
  duplicateOf !== null &&
  !row.matches.includes(duplicateOf) &&
  row.unansweredSends === 0 &&
  !row.hasLostCreate &&
  flow.onOne !== 'create' &&
  flow.matchFields.length === 1 &&
  errorsOf(crm).every(({code, field}) => code === 'DUPLICATE_DATA' && field === flow.matchFields[0]!.apiName)

export const admissionOf = ({no, module}: Pick<CompiledFlow, 'no' | 'module'>, {key, number}: Pick<ImportRow, 'key' | 'number'>) => ({
  module: module.no,
  flow: no,
  key,
  number,
})

/**
 * Adds the row's record to the settlement. For a created record, `doubt` builds the unsettled entry that is stored instead if another row
 * already has the record.
 */
const keepRecord = (
  judgedBatch: JudgedBatch,
  row: ImportRow,
  recordId: string,
  how: number,
  {mayExistTwice = false, writtenAt = null}: {mayExistTwice?: boolean; writtenAt?: string | null | undefined} = {},
) => {
  const {attempt} = row
  markWritten(judgedBatch, row, recordId)
  noteWritten(judgedBatch, row, {recordId, writtenAt})
  const doubt = () => ({
    ...unsettledEntryOf(judgedBatch.flow, row, {kind: STEP_CODES.create, target: null, attempt}),
    creates: 1,
    ended: true,
  })
  const {no: flow, module} = judgedBatch.flow
  const {key, matchKey, emptyLinks} = row
  const kept: KeptRow = {module: module.no, key, recordId, how, matchKey, mayExistTwice, writtenAt, flow, emptyLinks}
  if (how === HOW.made) kept.doubt = doubt
  judgedBatch.settled.kept.push(kept)
}

const addUnsettled = (
  judgedBatch: JudgedBatch,
  {row, target}: Op,
  kind: number,
  more: Pick<UnsettledEntry, 'doneSeconds' | 'ended' | 'creates'> = {},
) => {
  row.open = true
  judgedBatch.settled.opened.push({...unsettledEntryOf(judgedBatch.flow, row, {kind, target, attempt: row.attempt}), ...more})
}

export const unsettledEntryOf = (
  flow: CompiledFlow,
  row: ImportRow,
  {kind, target, attempt}: Pick<UnsettledEntry, 'kind' | 'target' | 'attempt'>,
): UnsettledEntry => ({
  module: flow.module.no,
  key: row.key,
  flow: flow.no,
  number: row.number,
  kind,
  target,
  attempt,
  hasUniqueKey: row.hasUniqueKey,
  digest: kind === STEP_CODES.create ? (row.sentDigest ?? sentDigestOf(flow, row)) : null,
  matchKey: row.matchKey,
})

type OpenRow = Pick<ImportRow, 'key' | 'number' | 'attempt' | 'open' | 'lostUpdate'>

/**
 * Ends the row's unsettled entry. If an update of another record than `written` was never answered, the entry stays, because an undo must then
 * compare that record.
 */
export const closeUnsettled = (
  {flow: {no: flow, module}, settled}: Pick<JudgedBatch, 'flow' | 'settled'>,
  row: OpenRow,
  written: string | null = null,
) => {
  const {key, number, attempt, lostUpdate: target} = row
  const name = {module: module.no, key}
  if (row.open && target && target !== written)
    settled.opened.push({...name, flow, number, kind: STEP_CODES.again, target, hasUniqueKey: false, attempt, ended: true})
  else if (row.open) settled.closed.push(name)
  row.open = false
}

const logAttempt = (judgedBatch: JudgedBatch, row: ImportRow, outcome: OutcomeName, logDetails: LogDetails) =>
  logOutcome(judgedBatch, row, outcome, {...logDetails, attempt: row.attempt})
