import type {RecordAnswer} from '../../shared/crm/crm.ts'
import {type CrmProblem, errorsOf, sayProblem} from '../../shared/crm/error.ts'
import {mayExist} from '../../shared/imports/row-result.ts'
import {HOW} from '../../sql/chain-rows.ts'
import {countAt, type Outcome, outcomeNo, PHASES} from '../../sql/run-log.ts'
import {sentDigestOf} from './digest.ts'
import {KINDS, type Kind, type Row, type Track, type Way} from './row.ts'
import type {Settled} from './settler.ts'
import type {Unit} from './subform-verdict.ts'
import type {Take} from './take.ts'

/** `unit`: the record whose rows it replaces with others, where it does. */
export type Op = {row: Row; target: string | null; unit?: Unit}
/** Where a row goes next: it is done, it is sent again as it is, it is looked for at the CRM first, or it is planned afresh. */
export type Next = 'end' | 'again' | 'wait' | 'replan'

export const bySteps = (next: ReadonlyMap<Row, Next>): Record<Next, Row[]> => {
  const steps: Record<Next, Row[]> = {end: [], again: [], wait: [], replan: []}
  for (const [row, step] of next) steps[step].push(row)
  return steps
}

/** A create or update nobody answers is sent at most so often in one go. */
export const mostSilences = 3

type Sent = {track: Track; kind: Kind; settled: Settled}

/** Writes down what one answer means for its row, and says where the row goes next. */
export const judgeAnswer = (sent: Sent, op: Op, answer: Exclude<RecordAnswer, {sent: false}>, take: Take | 'later' | undefined): Next => {
  const {row} = op
  row.attempt++
  if (answer.ok) return succeed(sent, op, answer.recordId)
  if (answer.crm.unanswered) return hearNothing(sent, op, answer.crm)
  const code = answer.crm.code ?? `HTTP_${answer.crm.status}`
  if (take === 'later') return putOff(sent, op, code, answer.crm)
  if (take?.taken) return takeRecord(sent, op, answer.crm, answer.duplicateOf!)
  if (isMatchFound(sent, row, answer.crm) && answer.duplicateOf) {
    note(sent, row, 'refused', {recordId: op.target, code, message: sayRefusal(answer.crm)})
    sent.settled.released.push(nameOf(sent, row))
    open(sent, op, KINDS.again)
    row.matches = [answer.duplicateOf]
    return 'replan'
  }
  const said = take ? `${sayRefusal(answer.crm)}. The record is not this row's to take: ${WHY[take.why]}` : sayRefusal(answer.crm)
  const message = isLost(sent, row) && row.silences === 0 ? `${plain(said, longestMessage - mayExist.length - 2)}. ${mayExist}` : said
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
 * A refusal after silence proves nothing: whoever reads this run alone is told of what an earlier one did not hear, and the question stays
 * for the runs to come.
 */
const isLost = ({kind}: Sent, {lost}: Row) => kind === 'create' && lost

const WHY = {
  another: 'somebody else made it',
  earlier: 'it was made before this import began',
  gone: 'it is gone',
  unread: 'it does not say who made it, or when',
  held: 'another row of this import has it',
} as const

const succeed = (sent: Sent, {row}: Op, recordId: string): Next => {
  const created = sent.kind === 'create'
  note(sent, row, created ? 'created' : 'updated', {recordId})
  if (created && !row.witness && (row.silences > 0 || row.lost)) noteTwice(sent, row, recordId)
  keep(sent, row, recordId, created ? HOW.made : HOW.updated)
  close(sent, row)
  return 'end'
}

const takeRecord = (sent: Sent, {row}: Op, crm: CrmProblem, recordId: string): Next => {
  note(sent, row, 'refused', {code: crm.code, message: sayRefusal(crm)})
  row.attempt++
  note(sent, row, 'created', {recordId, code: 'MADE_EARLIER', message: 'Made by the create that was sent before and never answered'})
  keep(sent, row, recordId, HOW.taken)
  // A take counts nothing: the row is counted by the run that sent the create.
  if (row.silences === 0) sent.settled.released.push(nameOf(sent, row))
  close(sent, row)
  return 'end'
}

const hearNothing = (sent: Sent, op: Op, crm: CrmProblem): Next => {
  const {row} = op
  row.silences++
  row.decided = {kind: sent.kind, target: op.target}
  note(sent, row, 'unanswered', {recordId: op.target, code: crm.code, message: sayProblem(crm)})
  open(sent, op, KINDS[sent.kind], {doneSeconds: isDone(crm) ? unreadableSeconds : null})
  if (sent.kind === 'create' && !row.witness) return 'wait'
  return row.silences < mostSilences ? 'again' : 'end'
}

/** The CRM said that it was done, though not what. Behind a 502 or a 504 it may still be at work. */
const isDone = ({status}: CrmProblem) => status !== null && status >= 200 && status < 300

const unreadableSeconds = 10

/** A lost create's record may be there, and cannot be looked at just now: the question stays open. */
const putOff = (sent: Sent, op: Op, code: string, crm: CrmProblem): Next => {
  const message = `${sayRefusal(crm)}. Whether that record is this row's could not be found out`
  note(sent, op.row, 'unanswered', {recordId: op.target, code, message})
  open(sent, op, KINDS[sent.kind])
  return 'again'
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

const keep = (sent: Sent, row: Row, recordId: string, how: number) =>
  sent.settled.kept.push({...nameOf(sent, row), recordId, how, matchKey: row.matchKey})

const open = (sent: Sent, {row, target}: Op, kind: number, more: {doneSeconds?: number | null; ended?: boolean} = {}) => {
  row.open = true
  sent.settled.opened.push({
    ...nameOf(sent, row),
    flow: sent.track.no,
    number: row.number,
    kind,
    target,
    witness: row.witness,
    digest: kind === KINDS.create ? sentDigestOf(sent.track, row) : null,
    attempt: row.attempt,
    ...more,
  })
}

const close = (sent: Sent, row: Row) => {
  if (row.open) sent.settled.closed.push(nameOf(sent, row))
  row.open = false
}

/** Nothing unique went with the create that was lost, so it may have made another record. */
const noteTwice = ({track, settled}: Sent, {key, number}: Row, recordId: string) =>
  settled.log.push({
    ...{key, flow: track.no, number, module: track.module.no, phase: PHASES.indexOf('write'), target: null, attempt: 0, recordId},
    ...{outcome: outcomeNo('made_after_no_answer'), code: null, message: null},
  })

type Said = {recordId?: string | null; code?: string | null; message?: string | null; target?: string | null}

/** One entry under the row's current attempt, counted in place of the row's outcome so far. */
const note = (sent: Sent, row: Row, outcome: Outcome, said: Said) => enter(sent, row, outcome, {...said, attempt: row.attempt})

export const enter = (
  {track, settled}: {track: {no: number; module: {no: number}; patching?: unknown}; settled: Settled},
  row: Pick<Row, 'key' | 'number' | 'counted' | 'notes'>,
  outcome: Outcome,
  said: Said & {attempt: number},
) => {
  const {recordId = null, code = null, message = null, target = null, attempt} = said
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

/** Once, before the first entry of the row itself. */
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
