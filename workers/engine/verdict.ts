import type {RecordAnswer} from '../../shared/crm/crm.ts'
import {type CrmProblem, errorsOf, sayProblem} from '../../shared/crm/error.ts'
import {mayExist, sayRounded} from '../../shared/imports/row-result.ts'
import {HOW} from '../../sql/chain-rows.ts'
import type {OpenQuestion} from '../../sql/ledger.ts'
import {countAt, type Outcome, outcomeNo, PHASES} from '../../sql/run-log.ts'
import {sentDigestOf} from './digest.ts'
import type {LateUpdates} from './late-updates.ts'
import {KINDS, type Kind, type Row, type Track, type Way} from './row.ts'
import type {Settled} from './settler.ts'
import type {Unit} from './subform-verdict.ts'
import type {Take} from './take.ts'

/** `unit`: for a subform replace, the parent record whose rows are replaced. */
export type Op = {row: Row; target: string | null; unit?: Unit}
/** Where a row goes next: it is done, it is sent again as it is, it is looked for at the CRM first, or it is planned afresh. */
export type Next = 'end' | 'again' | 'wait' | 'replan'

export const bySteps = (next: ReadonlyMap<Row, Next>): Record<Next, Row[]> => {
  const steps: Record<Next, Row[]> = {end: [], again: [], wait: [], replan: []}
  for (const [row, step] of next) steps[step].push(row)
  return steps
}

/** A create without a unique value is sent at most this often. */
export const mostSilences = 3
/** A write that is safe to send again is sent at most this often, and no longer than `patienceMs` after its first unanswered send. */
const mostSafeSilences = 12

/** What a batch was, and where its outcome is written. `patienceMs`: see `maySendAgain`. */
type Sent = {track: Track; kind: Kind; settled: Settled; patienceMs: number; lateUpdates: Pick<LateUpdates, 'add'>}

/**
 * Allows a resend of a write that is safe to repeat: before the third unanswered send, then up to twelve sends within `patienceMs`. One short
 * outage can cause three failures.
 */
export const maySendAgain = (row: Pick<Row, 'silences' | 'silentSince'>, patienceMs: number): boolean =>
  row.silences < mostSilences || (row.silences < mostSafeSilences && performance.now() - (row.silentSince ?? 0) < patienceMs)

/** Counts one more unanswered send of the row in this run. */
export const countSilence = (row: Pick<Row, 'silences' | 'silentSince'>) => {
  row.silences++
  row.silentSince ??= performance.now()
}

/** Writes down what one answer means for its row, and says where the row goes next. */
export const judgeAnswer = (sent: Sent, op: Op, answer: Exclude<RecordAnswer, {sent: false}>, take: Take | 'later' | undefined): Next => {
  const {row} = op
  row.attempt++
  if (answer.ok) return succeed(sent, op, answer.recordId)
  if (answer.crm.unanswered) return markUnanswered(sent, op, answer.crm)
  const code = answer.crm.code ?? `HTTP_${answer.crm.status}`
  if (take === 'later' || (take && !take.taken && (take.why === 'gone' || take.why === 'unclear')))
    return putOff(sent, op, code, answer.crm)
  if (take?.taken) return takeRecord(sent, op, answer.crm, answer.duplicateOf!)
  if (isMatchFound(sent, row, answer.crm) && answer.duplicateOf) {
    note(sent, row, 'refused', {recordId: op.target, code, message: sayRefusal(answer.crm)})
    sent.settled.released.push(nameOf(sent, row))
    open(sent, op, KINDS.again)
    row.matches = [answer.duplicateOf]
    return 'replan'
  }
  const said = take ? `${sayRefusal(answer.crm)}. This row cannot claim the record: ${WHY[take.why]}` : sayRefusal(answer.crm)
  const message = mayBeThere(sent, row, take) ? `${plain(said, longestMessage - mayExist.length - 2)}. ${mayExist}` : said
  note(sent, row, 'refused', {recordId: op.target, code, message})
  if (row.silences === 0) sent.settled.released.push(nameOf(sent, row))
  if (!take && sent.kind === 'create' && (row.silences > 0 || row.lost)) open(sent, op, KINDS.again, {ended: true})
  else close(sent, row)
  return 'end'
}

/** Rows whose create was lost and which the CRM now calls a duplicate of one record. */
export const takeCandidate = (kind: Way, {row}: Op, answer: RecordAnswer): string | null =>
  kind === 'create' && (row.silences > 0 || row.lost) && !answer.ok && answer.sent && !answer.crm.unanswered ? answer.duplicateOf : null

/**
 * Whether a refusal must say that an earlier create may have succeeded. Without a unique value, this run's log entries already say it. If another
 * record holds the unique value, the earlier create failed.
 */
const mayBeThere = ({kind}: Sent, row: Row, take: Take | undefined) => {
  if (kind !== 'create') return false
  if (row.silences === 0) return row.lost === true
  return row.witness && (!take || (!take.taken && take.why === 'unread'))
}

const WHY = {
  another: 'another user created it',
  earlier: 'it was created before this import began',
  gone: 'the CRM does not show it',
  unread: 'the CRM does not show who created it, or when',
  unclear: "the CRM's clock was set while the import ran",
  held: 'another row already has it',
} as const

const succeed = (sent: Sent, {row}: Op, recordId: string): Next => {
  const created = sent.kind === 'create'
  note(sent, row, created ? 'created' : 'updated', {recordId, message: row.remarks?.join('. ') ?? null})
  const mayExistTwice = created && !row.witness && row.unansweredCreates > 0
  if (mayExistTwice) noteTwice(sent, row, {recordId})
  keep(sent, row, recordId, created ? HOW.made : HOW.updated, mayExistTwice)
  close(sent, row)
  return 'end'
}

const takeRecord = (sent: Sent, {row}: Op, crm: CrmProblem, recordId: string): Next => {
  note(sent, row, 'refused', {code: crm.code, message: sayRefusal(crm)})
  row.attempt++
  note(sent, row, 'created', {recordId, code: 'MADE_EARLIER', message: 'Created by an earlier request that the CRM did not answer'})
  keep(sent, row, recordId, HOW.taken)
  // A take counts nothing: the row is counted by the run that sent the create.
  if (row.silences === 0) sent.settled.released.push(nameOf(sent, row))
  close(sent, row)
  return 'end'
}

const markUnanswered = (sent: Sent, op: Op, crm: CrmProblem): Next => {
  const {row, target} = op
  const isCreate = sent.kind === 'create'
  countSilence(row)
  row.decided = {kind: sent.kind, target}
  const isSafe = isCreate && row.witness
  note(sent, row, 'unanswered', {recordId: target, ...(isSafe ? resendSafe(sayProblem(crm)) : {code: crm.code, message: sayProblem(crm)})})
  if (isCreate) row.unansweredCreates++
  else sent.lateUpdates.add(target!, row.key)
  open(sent, op, KINDS[sent.kind], {doneSeconds: isDone(crm) ? unreadableSeconds : null, creates: isCreate ? 1 : 0})
  if (isCreate && !row.witness) return 'wait'
  return maySendAgain(row, sent.patienceMs) ? 'again' : 'end'
}

/** Code and message of an unanswered create whose unique value rules out a second record. */
export const resendSafe = (problem: string) => ({
  code: 'RESEND_SAFE',
  message: `${problem}. A unique field prevents a second record. If the row is still unanswered when the run ends, retry the run`,
})

/** The CRM said that it was done, though not what. Behind a 502 or a 504 it may still be at work. */
const isDone = ({status}: CrmProblem) => status !== null && status >= 200 && status < 300

const unreadableSeconds = 10

/**
 * Whether the duplicate that the CRM names is the row's cannot be decided yet: the CRM does not show the record, which does not mean that it is
 * deleted, or other runs have creates in flight. The question stays open, and the row is sent again while that may help.
 */
const putOff = (sent: Sent, op: Op, code: string, crm: CrmProblem): Next => {
  countSilence(op.row)
  const message = `${sayRefusal(crm)}. We could not confirm that this record belongs to the row. If the run ends without a result, retry it`
  note(sent, op.row, 'unanswered', {recordId: op.target, ...(op.row.witness ? {code: 'RESEND_SAFE'} : {code}), message})
  open(sent, op, KINDS[sent.kind])
  return maySendAgain(op.row, sent.patienceMs) ? 'again' : 'end'
}

/** The CRM knows a record with this row's match value that the search did not find: the row is planned again with it. */
const isMatchFound = ({kind, track}: Sent, row: Row, crm: CrmProblem) =>
  kind === 'create' &&
  row.silences === 0 &&
  !row.lost &&
  track.onOne !== 'create' &&
  track.matchFields.length === 1 &&
  errorsOf(crm).every(({code, field}) => code === 'DUPLICATE_DATA' && field === track.matchFields[0]!.apiName)

/** The CRM's words with the fields they are about; never a value. */
export const sayRefusal = (crm: CrmProblem) => {
  const fields = [...new Set(errorsOf(crm).flatMap(({field}) => field ?? []))]
  return fields.length ? `${sayProblem(crm)} (${fields.join(', ')})` : sayProblem(crm)
}

const nameOf = ({track}: Sent, {key}: Row) => ({module: track.module.no, key})

/** `doubt` builds the open question that is stored instead if another row already holds the record. */
const keep = (sent: Sent, row: Row, recordId: string, how: number, mayExistTwice = false) => {
  const {attempt} = row
  const doubt = () => ({...questionOf(sent.track, row, {kind: KINDS.create, target: null, attempt}), creates: 1, ended: true})
  sent.settled.kept.push({...nameOf(sent, row), recordId, how, matchKey: row.matchKey, mayExistTwice, ...(how === HOW.made && {doubt})})
}

const open = (sent: Sent, {row, target}: Op, kind: number, more: Pick<OpenQuestion, 'doneSeconds' | 'ended' | 'creates'> = {}) => {
  row.open = true
  sent.settled.opened.push({...questionOf(sent.track, row, {kind, target, attempt: row.attempt}), ...more})
}

/** The row's open question, as the ledger keeps it. */
export const questionOf = (
  track: Track,
  row: Row,
  {kind, target, attempt}: Pick<OpenQuestion, 'kind' | 'target' | 'attempt'>,
): OpenQuestion => ({
  ...{module: track.module.no, key: row.key, flow: track.no, number: row.number, kind, target, attempt},
  witness: row.witness,
  digest: kind === KINDS.create ? (row.sentDigest ?? sentDigestOf(track, row)) : null,
  matchKey: row.matchKey,
})

const close = (sent: Sent, row: Row) => {
  if (row.open) sent.settled.closed.push(nameOf(sent, row))
  row.open = false
}

/** Reports that an unanswered create of the row may have made a second record. No unique value went with it. */
export const noteTwice = (
  {track, settled}: {track: {no: number; module: {no: number}}; settled: Settled},
  {key, number}: Pick<Row, 'key' | 'number'>,
  {recordId, message = null}: {recordId: string | null; message?: string | null},
) => {
  const {no: module} = track.module
  settled.log.push({
    ...{key, flow: track.no, number, module, phase: PHASES.indexOf('write'), target: null, attempt: 0, recordId},
    ...{outcome: outcomeNo('made_after_no_answer'), code: null, message},
  })
  add(settled.counts, countAt(module, 'made_after_no_answer'), 1)
}

type Said = {recordId?: string | null; code?: string | null; message?: string | null; target?: string | null}

/** One entry under the row's current attempt, counted in place of the row's outcome so far. */
const note = (sent: Sent, row: Row, outcome: Outcome, said: Said) => enter(sent, row, outcome, {...said, attempt: row.attempt})

export const enter = (
  {track, settled}: {track: {no: number; module: {no: number}; patching?: unknown}; settled: Settled},
  row: Pick<Row, 'key' | 'number' | 'counted' | 'notes'> & Partial<Pick<Row, 'payload' | 'rounded'>>,
  outcome: Outcome,
  said: Said & {attempt: number},
) => {
  const {recordId = null, code = null, target = null, attempt} = said
  const message = withRounding(row, outcome, said.message ?? null)
  const {no: module} = track.module
  if (row.notes) noteLookups({track, settled}, row)
  settled.log.push({
    key: row.key,
    flow: track.no,
    number: row.number,
    module,
    phase: PHASES.indexOf(track.patching ? 'patch' : 'write'),
    target,
    attempt,
    recordId,
    outcome: outcomeNo(outcome),
    code: code && plain(code, 100),
    message: message && plain(message, longestMessage),
  })
  // A row is counted by what was written with it.
  if (track.patching) return
  if (row.counted) add(settled.counts, countAt(module, row.counted), -1)
  add(settled.counts, countAt(module, outcome), 1)
  row.counted = outcome
}

/** Appends the names of the rounded fields to the message of a row that was created, updated or planned. */
const withRounding = ({payload, rounded}: Partial<Pick<Row, 'payload' | 'rounded'>>, outcome: Outcome, message: string | null) => {
  const fields = rounded?.filter(field => payload !== undefined && field in payload) ?? []
  if (fields.length === 0 || !['created', 'updated', 'planned'].includes(outcome)) return message
  return message === null ? sayRounded(fields) : `${message}. ${sayRounded(fields)}`
}

/** Logs the lookups of a row once, before the first entry of the row itself. */
const noteLookups = ({track, settled}: Parameters<typeof enter>[0], row: Pick<Row, 'key' | 'number' | 'notes'>) => {
  for (const {field, ...said} of row.notes?.splice(0) ?? [])
    settled.log.push({
      ...{key: row.key, flow: track.no, number: row.number, module: track.module.no, phase: PHASES.indexOf('lookup'), target: field},
      ...{attempt: 0, outcome: outcomeNo('lookup'), ...said},
    })
}

const longestMessage = 1_000

/** Postgres takes no NUL, and the CRM may say anything at any length. */
const plain = (text: string, most: number) => text.replaceAll('\0', '\ufffd').slice(0, most)

const add = (counts: Map<number, number>, index: number, change: number) => counts.set(index, (counts.get(index) ?? 0) + change)
