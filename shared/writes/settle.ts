import {isDeepStrictEqual} from 'node:util'
import {HOW, listHolders} from '../../sql/chain-rows.ts'
import type {Tx} from '../../sql/database.ts'
import {type ChainRow, type LogRow, type OpenQuestion, type Settlement, settleIn} from '../../sql/ledger.ts'
import {
  KINDS,
  listRowStandings,
  lowerAttempts,
  type OutsideSend,
  putOutcomes,
  putReleased,
  type ReleasedRow,
  type RowStanding,
} from '../../sql/outside-ledger.ts'
import {clearAllowanceNote, renewOutsideLease, restoreLease, type StandingRun} from '../../sql/outside-runs.ts'
import {listClaimedElsewhere} from '../../sql/record-claims.ts'
import {loseParents, releaseParents} from '../../sql/replacements.ts'
import {OUTCOMES, type Outcome, outcomeNo, PHASES} from '../../sql/run-log.ts'
import {type ItemResult, keepProblem, keepResults, listResults} from '../../sql/writes.ts'
import {rowsSettled} from '../metrics/rows.ts'
import {leaseSeconds} from '../runs/lease-seconds.ts'
import {type Counts, openCounts} from './counts.ts'

/** What one row of a batch came to. `mayGoOn`: for all we know the CRM is still at it. `unsent`: nothing was asked of the CRM. */
export type End =
  | {outcome: 'created' | 'updated'; recordId: string}
  | {outcome: 'refused'; code: string; message: string}
  | {outcome: 'unanswered'; message: string; code?: string; mayGoOn?: boolean}
  | {outcome: 'unsent'}

type Batch = Pick<
  OutsideSend,
  'batch' | 'module' | 'kind' | 'write' | 'keys' | 'ats' | 'numbers' | 'attempts' | 'targets' | 'witness' | 'fresh'
> & {
  flow: number | null
  /** Rows of which a record they made is patched; none where it is null. */
  patches?: OutsideSend['patches']
  /** Until its deadline. */
  secondsLeft?: number
}

/**
 * Writes down what became of a batch: log, meter, record ids, open questions and the results its asker reads, in one transaction
 * with the end of the batch. The run is locked. `ends`: one for each row, in the batch's order.
 */
export const settleBatch = async (tx: Tx, run: StandingRun, batch: Batch, ends: End[], results: ItemResult[]) => {
  const chain = run.chainNo ?? run.no
  const {module} = batch
  const standings = await listRowStandings(tx, {run: run.no, chain, module, keys: batch.keys})
  const held = await findHeld(tx, {chain, module, keys: batch.keys, ends})
  const sheet = openSheet(batch)
  for (const [at, standing] of standings.entries()) enter(sheet, {standing, attempt: batch.attempts[at]!, at}, held.get(at) ?? ends[at]!)
  await putSheet(tx, run, sheet, [batch.batch])
  if (results.length) await keepResults(tx, {write: batch.write, results: withHeld(results, batch, held)})
  if (run.stoppedBy && ends.some(isWritten)) await clearAllowanceNote(tx, {no: run.no, leaseSeconds})
  if (batch.kind === KINDS.replace) await giveBack(tx, batch, ends)
}

const isWritten = ({outcome}: End) => outcome === 'created' || outcome === 'updated'

/**
 * The answer to a batch that was given up takes the place of the guess, in the log and for its asker, where the row has not been sent again
 * since. Of a row sent before, of a patch and of replaced rows the guess stays: what came before it, or beside it, is not known any more.
 */
export const settleLate = async (tx: Tx, run: StandingRun, batch: Batch, ends: End[], results: ItemResult[]) => {
  if (batch.kind === KINDS.replace || (run.state !== 'writing' && run.state !== 'closing')) return
  const chain = run.chainNo ?? run.no
  const {module} = batch
  const standings = await listRowStandings(tx, {run: run.no, chain, module, keys: batch.keys})
  const held = await findHeld(tx, {chain, module, keys: batch.keys, ends})
  const claimed = await findClaimed(tx, run, ends)
  const sheet = openSheet(batch)
  const told = new Set<number>()
  for (const [at, standing] of standings.entries()) {
    const end = held.get(at) ?? ends[at]!
    if (end.outcome === 'created' && claimed.has(end.recordId)) continue
    if (!isGuess(batch, standing, at) || end.outcome === 'unanswered' || end.outcome === 'unsent') continue
    enter(sheet, {standing: {...standing, kind: null}, attempt: batch.attempts[at]!, at}, end)
    sheet.closed.push({module, key: standing.key})
    told.add(batch.ats[at]!)
  }
  if (told.size === 0) return
  await putSheet(tx, run, sheet, [])
  const known = results.filter(({at}) => told.has(at))
  if (known.length) await keepResults(tx, {write: batch.write, results: withHeld(known, batch, held), late: true})
}

/** The created records that a row of another chain took over after the batch was given up: that row keeps its record. */
const findClaimed = async (tx: Tx, {no, chainNo, connectorId}: StandingRun, ends: End[]): Promise<Set<string>> => {
  const records = ends.flatMap(end => (end.outcome === 'created' ? [end.recordId] : []))
  if (records.length === 0) return new Set()
  return new Set(await listClaimedElsewhere(tx, {chain: chainNo ?? no, connector: connectorId!, records}))
}

const isGuess = ({fresh, attempts}: Batch, {outcome, kind, lastAttempt, sending}: RowStanding, at: number) =>
  fresh[at]! && lastAttempt === attempts[at] && outcome === outcomeNo('unanswered') && kind !== null && !sending

const putSheet = async (tx: Tx, run: StandingRun, sheet: Sheet, batches: number[]) => {
  const {released, attempts, outcomes, lowered, log, kept, opened, closed, counts} = sheet
  await writeDown(tx, run, {batches, log, released, kept, opened, closed, counts: counts.list()})
  if (outcomes.length) await putOutcomes(tx, {run: run.no, rows: outcomes})
  if (attempts.length) await putReleased(tx, {run: run.no, rows: attempts})
  if (lowered.length) await lowerAttempts(tx, {run: run.no, rows: lowered})
  rowsSettled(counts.list())
}

/** The parents are anybody's again, but for those whose rows the CRM may still be replacing. */
const giveBack = async (tx: Tx, {write, targets, secondsLeft = 0}: Batch, ends: End[]) => {
  const lost = targets.filter((_, at) => isLost(ends[at]!)) as string[]
  if (lost.length) await loseParents(tx, {holder: {write}, parents: lost, seconds: secondsLeft})
  await releaseParents(tx, {holder: {write}, parents: targets as string[]})
}

const isLost = (end: End) => end.outcome === 'unanswered' && end.mayGoOn === true

/** The answer to an item whose record another row has: the CRM said that it made the record without saying which. */
const withHeld = (results: ItemResult[], {ats}: Batch, held: Map<number, HeldEnd>): ItemResult[] => {
  const ofItem = new Map([...held].map(([row, end]) => [ats[row]!, end]))
  return results.map(told => {
    const end = ofItem.get(told.at)
    if (!end) return told
    const crm = {...noAnswer, code: 'SUCCESS', details: {id: end.named}}
    return {at: told.at, result: {ok: false, code: end.code, error: end.message, crm}, again: false}
  })
}

type WrittenDown = Pick<Settlement, 'batches' | 'log' | 'released' | 'kept' | 'opened' | 'closed' | 'counts'>

/** T2 under the run's lock, whatever has become of its lease meanwhile: that is afterwards as it was before. */
export const writeDown = async (tx: Tx, run: StandingRun, settled: WrittenDown) => {
  const seconds = 5
  await renewOutsideLease(tx, {no: run.no, seconds, taken: false})
  await settleIn(tx, {
    ...{run: run.no, chain: run.chainNo ?? run.no, fence: run.fence, settleNo: run.settleNo + 1},
    ...{...settled, cursor: {flow: 0, lowWater: 0}, answerSeconds: 0, leaseSeconds: seconds},
  })
  await restoreLease(tx, {no: run.no, until: run.leaseUntil})
  run.settleNo++
}

/** A batch whose answer nobody waits for any more: what was asked may have been done, and its asker is told so. */
export const settleDead = async (tx: Tx, run: StandingRun, send: OutsideSend) => {
  const {write} = send
  const message = 'The process that sent it was lost before an answer came'
  const ends: End[] = send.keys.map(() => ({outcome: 'unanswered', message}))
  const result = {ok: false, error: message, crm: noAnswer}
  const results = [...new Set(send.ats)].map(at => ({at, result, again: false}))
  await settleBatch(tx, run, {...send, flow: send.flow || null}, ends, results)
  const isEvery = (await listResults(tx, write)).every(one => isDeepStrictEqual(one.result, result))
  if (isEvery) await keepProblem(tx, {id: write, problem: {crm: noAnswer, renews: false}})
}

/** The CRM's error object of a call nobody heard the end of. */
export const noAnswer = {
  ...{code: null, status: null, details: null, retryable: true, response: null},
  ...{unanswered: true, retryAfterMs: null, quotaSpent: false},
}

/** `named`: the record that another row made. Source: the specification's CRM error object, `unanswered`. */
type HeldEnd = Extract<End, {outcome: 'unanswered'}> & {named: string}

const heldEnd = (recordId: string): HeldEnd => ({
  outcome: 'unanswered',
  code: 'RECORD_HELD',
  message: `The CRM named record ${recordId}, which another row of this run made. Look for this row's record in the CRM`,
  named: recordId,
})

/** The ends of rows whose answer names a record that another row of the chain made, by their places. */
const findHeld = async (tx: Tx, {chain, module, keys, ends}: {chain: number; module: number; keys: string[]; ends: End[]}) => {
  const made = ends.flatMap((end, at) => (end.outcome === 'created' ? [{at, recordId: end.recordId}] : []))
  if (made.length === 0) return new Map<number, HeldEnd>()
  const holders = await listHolders(tx, {chain, module, records: made.map(({recordId}) => recordId)})
  const keyOf = new Map(holders.map(({recordId, key}) => [recordId, key]))
  const held = new Map<number, HeldEnd>()
  for (const {at, recordId} of made) {
    const key = keys[at]!
    if ((keyOf.get(recordId) ?? key) !== key) held.set(at, heldEnd(recordId))
    else keyOf.set(recordId, key)
  }
  return held
}

type Sheet = {
  batch: Batch
  log: LogRow[]
  released: {module: number; key: string}[]
  attempts: ReleasedRow[]
  outcomes: {module: number; key: string; outcome: number}[]
  /** Rows that stay in the meter and were not sent after all. */
  lowered: {module: number; key: string; patch: boolean}[]
  kept: ChainRow[]
  opened: OpenQuestion[]
  closed: {module: number; key: string}[]
  counts: Counts
}

const openSheet = (batch: Batch): Sheet => ({
  ...{batch, log: [], released: [], attempts: [], outcomes: [], lowered: [], kept: [], opened: [], closed: [], counts: openCounts()},
})

type Place = {standing: RowStanding; attempt: number; at: number}

const enter = (sheet: Sheet, place: Place, end: End) => {
  const {standing, attempt, at} = place
  const {batch, released, attempts, lowered, kept, closed} = sheet
  const name = {module: batch.module, key: standing.key}
  const isOpen = standing.kind !== null
  const isFirst = batch.fresh[at]!
  const isPatch = batch.patches?.[at] === true
  if (end.outcome === 'unsent') {
    if (isFirst) released.push(name)
    else lowered.push({...name, patch: isPatch})
    return
  }
  if (isPatch) return log(sheet, place, {recordId: batch.targets[at] ?? null, ...end, attempt, phase: PATCH})
  note(sheet, place, end)
  if (end.outcome === 'unanswered') return open(sheet, place, batch.kind)
  if (end.outcome === 'refused') {
    // A refusal after a silence proves nothing of the lost send: the row stays counted, and its question open.
    if (isOpen) return open(sheet, place, KINDS.again)
    if (isFirst) released.push(name)
    if (isFirst) attempts.push({...name, attempt, outcome: outcomeNo('refused')})
    return
  }
  kept.push({...name, recordId: end.recordId, how: end.outcome === 'created' ? HOW.made : HOW.updated, matchKey: null})
  if (isOpen) closed.push(name)
  // Nothing unique went with it, so the lost create may have made another one.
  if (end.outcome === 'created' && isOpen && standing.kind !== KINDS.update && !batch.witness[at])
    log(sheet, place, {outcome: 'made_after_no_answer', attempt: 0, recordId: end.recordId})
}

const note = (sheet: Sheet, place: Place, end: Exclude<End, {outcome: 'unsent'}>) => {
  const {standing, attempt} = place
  const {module} = sheet.batch
  const before = outcomeBefore(standing)
  if (before) sheet.counts.add(module, before, -1)
  sheet.counts.add(module, end.outcome, 1)
  sheet.outcomes.push({module, key: standing.key, outcome: outcomeNo(end.outcome)})
  const target = sheet.batch.targets[place.at] ?? null
  log(sheet, place, {recordId: target, ...end, attempt})
}

const [WRITE, PATCH] = [PHASES.indexOf('write'), PHASES.indexOf('patch')]

type Said = {phase?: number; outcome: Outcome; attempt: number; recordId?: string | null; code?: string; message?: string}

const log = ({batch, log}: Sheet, {standing, at}: Place, {phase = WRITE, outcome, attempt, recordId = null, code, message}: Said) =>
  log.push({
    ...{key: standing.key, flow: batch.flow, number: batch.numbers[at] ?? null, module: batch.module, phase, target: null},
    ...{attempt, recordId, outcome: outcomeNo(outcome), code: plain(code, 100), message: plain(message, 1_000)},
  })

/** Postgres takes no NUL, and the CRM may say anything at any length. */
const plain = (text: string | undefined, most: number) => text?.replaceAll('\0', '\ufffd').slice(0, most) ?? null

const open = ({batch, opened}: Sheet, {standing, attempt, at}: Place, kind: number) => {
  opened.push({
    ...{module: batch.module, key: standing.key, flow: batch.flow ?? 0, number: batch.numbers[at] ?? 0},
    ...{kind, target: batch.targets[at] ?? null, witness: batch.witness[at]!, attempt},
  })
}

/** What the run counts the row as so far. */
export const outcomeBefore = ({outcome}: RowStanding): Outcome | null => (outcome === null ? null : OUTCOMES[outcome]!)
