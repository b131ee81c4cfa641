import {isDeepStrictEqual} from 'node:util'
import {HOW} from '../../../sql/chain-rows.ts'
import type {Tx} from '../../../sql/database.ts'
import {
  EXTERNAL_STEP_CODES,
  type ExternalRowState,
  type ExternalSend,
  listExternalRowStates,
  lowerAttempts,
  putOutcomes,
  putReleased,
  type ReleasedRow,
} from '../../../sql/external-ledger.ts'
import {clearQuotaNote, type ExternalRun, renewExternalRunLease, restoreLease} from '../../../sql/external-runs.ts'
import {
  type ChainRow,
  type LogRow,
  type PatchedRow,
  type RecordMarks,
  type Settlement,
  settleIn,
  type UnsettledEntry,
} from '../../../sql/ledger.ts'
import {listClaimedElsewhere} from '../../../sql/record-claims.ts'
import {loseParents, releaseParents} from '../../../sql/replacements.ts'
import {OUTCOMES, type OutcomeName, outcomeNo, PHASES} from '../../../sql/run-log.ts'
import {type ItemResult, keepProblem, keepResults, listResults} from '../../../sql/writes.ts'
import {noAnswer} from '../../crm/error.ts'
import {storableText} from '../../schema/storable-text.ts'
import {rowsSettled} from '../../telemetry/metrics/rows.ts'
import {leaseSeconds} from '../lease-seconds.ts'
import {hasMade} from './admit.ts'
import {type Counts, openCounts, withTwice} from './counts.ts'
import {findRecordHolders, withHeldEnds} from './held-ends.ts'
import {uniqueKeysOf} from './unique-keys.ts'

/**
 * How one row of a batch ended. `writtenAt`: the `Modified_Time` of its record after the write. `marked`: the new marks of the record.
 * `mayGoOn`: the CRM may still be processing the request. `unsent`: the row was not sent.
 */
export type WriteEnd =
  | {outcome: 'created' | 'updated'; recordId: string; code?: string; message?: string; writtenAt?: string | null; marked?: RecordMarks}
  | {outcome: 'refused'; code: string; message: string}
  | {outcome: 'unanswered'; message: string; code?: string; mayGoOn?: boolean; marked?: RecordMarks}
  | {outcome: 'unsent'}

type Batch = Pick<
  ExternalSend,
  'batch' | 'module' | 'kind' | 'write' | 'keys' | 'ats' | 'numbers' | 'attempts' | 'targets' | 'hasUniqueKeys' | 'digests' | 'fresh'
> & {
  flow: number | null
  /** For each row, whether its update patches a record that the row created in this run. Null if no row does. */
  patches?: ExternalSend['patches']
  secondsLeft?: number
}

/**
 * Settles a batch (T2). One transaction writes the log, meter, record ids, unsettled entries and results, and ends the batch. `ends`: one entry
 * per row, in the order of the batch. The caller must have locked the run. Returns the counts for `rowsSettled`, which the caller calls after the
 * commit.
 */
export const settleBatch = async (tx: Tx, run: ExternalRun, batch: Batch, ends: WriteEnd[], results: ItemResult[]): Promise<number[]> => {
  const chain = run.chainNo ?? run.no
  const {module} = batch
  const rowStates = await listExternalRowStates(tx, {run: run.no, chain, module, keys: batch.keys})
  const held = await findRecordHolders(tx, {run: run.no, chain, module, keys: batch.keys, ends})
  const sheet = openSheet(batch)
  for (const [at, rowState] of rowStates.entries()) enterEnd(sheet, {rowState, attempt: batch.attempts[at]!, at}, held.get(at) ?? ends[at]!)
  await writeSheet(tx, run, sheet, [batch.batch])
  if (results.length) await keepResults(tx, {write: batch.write, results: withHeldEnds(results, batch, held)})
  if ((run.stoppedBy || run.hasQuotaLease) && ends.some(isWritten)) await clearQuotaNote(tx, {no: run.no, leaseSeconds})
  if (batch.kind === EXTERNAL_STEP_CODES.replace) await returnAttempts(tx, batch, ends)
  return sheet.counts.list()
}

const isWritten = ({outcome}: WriteEnd) => outcome === 'created' || outcome === 'updated'

/**
 * Handles an answer that arrives after its batch was settled as unanswered. If a row was not sent again since, the answer becomes the row's
 * outcome in the log, counts and results. Patches, replaced rows and rows that were sent before stay unanswered, because their earlier state
 * is unknown. Does nothing if the run has ended. Returns the counts, as `settleBatch` does.
 */
export const settleLate = async (tx: Tx, run: ExternalRun, batch: Batch, ends: WriteEnd[], results: ItemResult[]): Promise<number[]> => {
  if (batch.kind === EXTERNAL_STEP_CODES.replace || (run.state !== 'writing' && run.state !== 'closing')) return []
  const chain = run.chainNo ?? run.no
  const {module} = batch
  const rowStates = await listExternalRowStates(tx, {run: run.no, chain, module, keys: batch.keys})
  const held = await findRecordHolders(tx, {run: run.no, chain, module, keys: batch.keys, ends})
  const claimed = await findClaimed(tx, run, ends)
  const sheet = openSheet(batch)
  const settledItems = new Set<number>()
  for (const [at, rowState] of rowStates.entries()) {
    const end = held.get(at) ?? ends[at]!
    if (end.outcome === 'created' && claimed.has(end.recordId)) continue
    if (!isGuess(batch, rowState, at) || end.outcome === 'unanswered' || end.outcome === 'unsent') continue
    enterEnd(sheet, {rowState: {...rowState, kind: null}, attempt: batch.attempts[at]!, at}, end)
    sheet.closed.push({module, key: rowState.key})
    settledItems.add(batch.ats[at]!)
  }
  if (settledItems.size === 0) return []
  await writeSheet(tx, run, sheet, [])
  const known = results.filter(({at}) => settledItems.has(at))
  if (known.length) await keepResults(tx, {write: batch.write, results: withHeldEnds(known, batch, held), late: true})
  return sheet.counts.list()
}

/** Finds the created records that rows of other chains claimed after this batch was settled as unanswered. The claiming rows keep the records. */
const findClaimed = async (tx: Tx, {no, chainNo, connectorId}: ExternalRun, ends: WriteEnd[]): Promise<Set<string>> => {
  const records = ends.flatMap(end => (end.outcome === 'created' ? [end.recordId] : []))
  if (records.length === 0) return new Set()
  return new Set(await listClaimedElsewhere(tx, {chain: chainNo ?? no, connector: connectorId!, records}))
}

const isGuess = (batch: Batch, {outcome, kind, creates, lastAttempt, sending}: ExternalRowState, at: number) => {
  const isFirst = batch.fresh[at]! && creates <= Number(batch.kind === EXTERNAL_STEP_CODES.create)
  return isFirst && lastAttempt === batch.attempts[at] && outcome === outcomeNo('unanswered') && kind !== null && !sending
}

const writeSheet = async (tx: Tx, run: ExternalRun, sheet: Sheet, batches: number[]) => {
  const {released, attempts, outcomes, lowered, log, kept, opened, closed, patched, marked, counts} = sheet
  const rewritten = sheet.rewritten.map(one => ({...one, chain: run.chainNo ?? run.no}))
  await writeSettlement(tx, run, {batches, log, released, kept, opened, closed, patched, rewritten, marked, counts: counts.list()})
  if (outcomes.length) await putOutcomes(tx, {run: run.no, rows: outcomes})
  if (attempts.length) await putReleased(tx, {run: run.no, rows: attempts})
  if (lowered.length) await lowerAttempts(tx, {run: run.no, rows: lowered})
}

/** Unlocks the parents of subform rows, except those whose rows the CRM may still be replacing. */
const returnAttempts = async (tx: Tx, {write, targets, secondsLeft = 0}: Batch, ends: WriteEnd[]) => {
  const lost = targets.filter((_, at) => isLost(ends[at]!)) as string[]
  if (lost.length) await loseParents(tx, {holder: {write}, parents: lost, seconds: secondsLeft})
  await releaseParents(tx, {holder: {write}, parents: targets as string[]})
}

const isLost = (end: WriteEnd) => end.outcome === 'unanswered' && end.mayGoOn === true

type SettledSheet = Pick<Settlement, 'batches' | (keyof Sheet & keyof Settlement)>

/**
 * Writes the settlement (T2), even if the run's lease has expired: extends the lease for the statement and restores it afterwards. The
 * caller must have locked the run.
 */
export const writeSettlement = async (tx: Tx, run: ExternalRun, settled: SettledSheet) => {
  const seconds = 5
  const counts = await withTwice(tx, run.no, settled)
  await renewExternalRunLease(tx, {no: run.no, seconds, taken: false})
  await settleIn(tx, {
    run: run.no,
    chain: run.chainNo ?? run.no,
    fence: run.fence,
    settleNo: run.settleNo + 1,
    ...settled,
    counts,
    cursor: {flow: 0, lowWater: 0},
    answerSeconds: 0,
    leaseSeconds: seconds,
  })
  await restoreLease(tx, {no: run.no, until: run.leaseUntil})
  run.settleNo++
}

/** Settles all rows of a batch as unanswered, because the sender was lost. The results say that the rows may have been written. */
export const settleAbandonedSend = async (tx: Tx, run: ExternalRun, send: ExternalSend) => {
  const {write} = send
  const message = 'The process that sent it was lost before an answer came'
  const ends: WriteEnd[] = send.keys.map(() => ({outcome: 'unanswered', message}))
  const result = {ok: false, error: message, crm: noAnswer}
  const results = [...new Set(send.ats)].map(at => ({at, result, again: false}))
  rowsSettled(await settleBatch(tx, run, {...send, flow: send.flow || null}, ends, results))
  const isEvery = (await listResults(tx, write)).every(one => isDeepStrictEqual(one.result, result))
  if (isEvery) await keepProblem(tx, {id: write, problem: {crm: noAnswer, renews: false}})
}

type Sheet = {
  batch: Batch
  log: LogRow[]
  released: Settlement['released']
  attempts: ReleasedRow[]
  outcomes: {module: number; key: string; outcome: number}[]
  /** Rows that were not sent in this attempt, but that an earlier attempt metered. They stay metered; their attempt number is lowered. */
  lowered: {module: number; key: string; patch: boolean}[]
  kept: ChainRow[]
  opened: UnsettledEntry[]
  closed: {module: number; key: string}[]
  patched: PatchedRow[]
  rewritten: {module: number; recordId: string; writtenAt: string}[]
  marked: RecordMarks[]
  counts: Counts
}

const openSheet = (batch: Batch): Sheet => ({
  batch,
  log: [],
  released: [],
  attempts: [],
  outcomes: [],
  lowered: [],
  kept: [],
  opened: [],
  closed: [],
  patched: [],
  rewritten: [],
  marked: [],
  counts: openCounts(),
})

type SheetEntry = {rowState: ExternalRowState; attempt: number; at: number}

const enterEnd = (sheet: Sheet, sheetEntry: SheetEntry, end: WriteEnd) => {
  const {rowState, attempt, at} = sheetEntry
  const {batch, released, attempts, lowered, kept, closed} = sheet
  const name = {module: batch.module, key: rowState.key}
  const isOpen = rowState.kind !== null
  const isFirst = batch.fresh[at]!
  const isPatch = batch.patches?.[at] === true
  if (end.outcome === 'unsent') {
    if (isFirst) released.push({...name, flow: null, number: null})
    else lowered.push({...name, patch: isPatch})
    return
  }
  if ('marked' in end && end.marked) sheet.marked.push(end.marked)
  const writtenAt = ('writtenAt' in end ? end.writtenAt : null) ?? null
  if (isPatch && isWritten(end)) sheet.patched.push({...name, filled: [], isWhole: false, writtenAt})
  if (isPatch) return logOutcome(sheet, sheetEntry, {recordId: batch.targets[at] ?? null, ...end, attempt, phase: PATCH})
  noteOutcome(sheet, sheetEntry, end)
  if (end.outcome === 'unanswered') return addUnsettled(sheet, sheetEntry, batch.kind)
  if (end.outcome === 'refused') {
    // A refusal after an unanswered send does not prove that the earlier send failed. So the row stays counted and its unsettled entry stays.
    if (isOpen) return addUnsettled(sheet, sheetEntry, EXTERNAL_STEP_CODES.again)
    if (isFirst) released.push({...name, flow: null, number: null})
    if (isFirst) attempts.push({...name, attempt, outcome: outcomeNo('refused')})
    return
  }
  const isMade = end.outcome === 'created'
  // If this create and the unanswered creates share no unique value, the CRM may have stored several records.
  const mayExistTwice = isMade && isOpen && rowState.creates > 0 && !uniqueKeysOf(batch, at, rowState).hasUniqueKey
  kept.push({...name, recordId: end.recordId, how: isMade ? HOW.made : HOW.updated, matchKey: null, writtenAt, mayExistTwice})
  // A row's chain entry keeps the record that the row created. If the row updates another record, the entry of that record's creator gets the time.
  const isOther = !isMade && hasMade(rowState) && rowState.recordId !== end.recordId
  if (isOther && writtenAt) sheet.rewritten.push({module: batch.module, recordId: end.recordId, writtenAt})
  // An answered update or a refusal does not show whether an unanswered create succeeded.
  if (isOpen && !isMade && rowState.creates > 0) addUnsettled(sheet, sheetEntry, EXTERNAL_STEP_CODES.again)
  else if (isOpen) closed.push(name)
  if (mayExistTwice) logOutcome(sheet, sheetEntry, {outcome: 'made_after_no_answer', attempt: 0, recordId: end.recordId})
}

const noteOutcome = (sheet: Sheet, sheetEntry: SheetEntry, end: Exclude<WriteEnd, {outcome: 'unsent'}>) => {
  const {rowState, attempt} = sheetEntry
  const {module} = sheet.batch
  const before = countedOutcomeOf(rowState)
  if (before) sheet.counts.add(module, before, -1)
  if (rowState.unchanged) sheet.counts.addUnchanged(module, -1)
  sheet.counts.add(module, end.outcome, 1)
  sheet.outcomes.push({module, key: rowState.key, outcome: outcomeNo(end.outcome)})
  const target = sheet.batch.targets[sheetEntry.at] ?? null
  logOutcome(sheet, sheetEntry, {recordId: target, ...end, attempt})
}

const [WRITE, PATCH] = [PHASES.indexOf('write'), PHASES.indexOf('patch')]

type LoggedOutcome = {phase?: number; outcome: OutcomeName; attempt: number; recordId?: string | null; code?: string; message?: string}

const logOutcome = (
  {batch, log}: Sheet,
  {rowState, at}: SheetEntry,
  {phase = WRITE, outcome, attempt, recordId = null, code, message}: LoggedOutcome,
) =>
  log.push({
    key: rowState.key,
    flow: batch.flow,
    number: batch.numbers[at] ?? null,
    module: batch.module,
    phase,
    target: null,
    attempt,
    recordId,
    outcome: outcomeNo(outcome),
    code: code === undefined ? null : storableText(code, 100),
    message: message === undefined ? null : storableText(message, 1_000),
  })

const addUnsettled = ({batch, opened}: Sheet, {rowState, attempt, at}: SheetEntry, kind: number) => {
  const isCreate = kind === EXTERNAL_STEP_CODES.create
  const {hasUniqueKey, digests: digest} = isCreate || rowState.creates === 0 ? uniqueKeysOf(batch, at, rowState) : rowState
  opened.push({
    module: batch.module,
    key: rowState.key,
    flow: batch.flow ?? 0,
    number: batch.numbers[at] ?? 0,
    kind,
    target: batch.targets[at] ?? null,
    hasUniqueKey,
    digest,
    attempt,
    creates: Number(isCreate),
  })
}

/** Returns the outcome that a new outcome of the row replaces in the run's counts. Null if the run has not counted the row yet. */
export const countedOutcomeOf = ({outcome}: ExternalRowState): OutcomeName | null => (outcome === null ? null : OUTCOMES[outcome]!)
