import {setTimeout as sleep} from 'node:timers/promises'
import {writesPaused} from '../../shared/connectors/writing.ts'
import type {Share} from '../../shared/crm/budget.ts'
import type {WriteAnswer} from '../../shared/crm/crm.ts'
import {startClock} from '../../shared/crm/deadline.ts'
import type {CrmError} from '../../shared/crm/error.ts'
import type {Slots} from '../../shared/crm/slots.ts'
import {Refusal} from '../../shared/errors.ts'
import {atPoint} from '../../shared/fault-point.ts'
import {batchSent} from '../../shared/metrics/rows.ts'
import {lockStanding, shutAcceptedBy} from '../../shared/runs/outside.ts'
import {type Admission, type AdmittedUnit, admitUnits, type Unit, type WriteKind} from '../../shared/writes/admit.ts'
import {logInherited} from '../../shared/writes/log-inherited.ts'
import {type End, settleBatch, settleLate} from '../../shared/writes/settle.ts'
import {findConnector} from '../../sql/connectors.ts'
import {isFateUnknown, isPassing, type Tx} from '../../sql/database.ts'
import {findSecondsLeft, KINDS, listOutsideSends} from '../../sql/outside-ledger.ts'
import type {Stop} from '../../sql/run-heads.ts'
import {type ItemResult, keepProblem, keepResults, listOpenAts, type Write} from '../../sql/writes.ts'
import {holdSlot, type Slot} from '../engine/slots.ts'
import type {Work} from '../worker.ts'

/**
 * What the CRM said of a batch: one end for each row, in order, and one result for each item. `problem`: one answer of the CRM that was
 * every row's.
 */
export type Answered = {ends: End[]; results: ItemResult[]; problem?: CrmError | null}

export type Sending = {
  write: Write
  /** Numbers of the run's names. */
  module: number
  flow: number | null
  kind: WriteKind
  units: Unit[]
  slots: Share
  /** A call of more than ten records counts among the CRM's large ones. */
  isLarge: boolean
  /** Asks the CRM, once. `mayLeave` is to be true at the moment the request leaves: the intent may have grown too old. */
  transmit(units: AdmittedUnit[], options: {signal: AbortSignal; mayLeave(): boolean}): Promise<Answered>
}

/** Nothing is sent later than this after its intent was written. */
const sendWithinMs = 5_000

/**
 * The life of one batch of an outside engine: slot, intent, request, slot back, settlement; again for what the limit left no room
 * for, once rows in flight are settled. Every item has its result when this returns. A batch the CRM was asked about is settled
 * whatever else fails, or found dead and told as unanswered by the sweep.
 */
export const sendUnits = async (work: Work, sending: Sending): Promise<void> => {
  const {write, slots, isLarge, transmit} = sending
  let {units} = sending
  const giveUpAt = performance.now() + answerSecondsOf(work) * 1000
  while (units.length > 0) {
    const slot = await holdWithin(isLarge ? slots.large : slots.small, work.signal)
    try {
      const since = performance.now()
      const admission = await admitSurely(work, {...sending, units})
      if (admission.batch !== null) {
        atPoint('after_intent')
        const mayLeave = () => performance.now() - since < sendWithinMs
        const answered = await transmit(admission.admitted, {signal: work.signal, mayLeave})
        slot.give()
        atPoint('after_send')
        batchSent('outside')
        await settle(work, sending, admission, answered)
      }
      units = admission.left
    } finally {
      slot.give()
    }
    if (units.length === 0) return
    if (performance.now() > giveUpAt) return void (await keepResults(work.db, {write: write.id, results: units.map(notReached)}))
    await sleep(250, undefined, {signal: work.signal})
  }
}

/** Waits in line no longer than whoever asked would for the answer. Throws Refusal: nothing was sent. */
const holdWithin = async (slots: Slots, signal: AbortSignal): Promise<Slot> => {
  const clock = startClock(lineSeconds, signal, 'No free call')
  try {
    return await holdSlot(slots, clock.signal)
  } catch {
    throw new Refusal('UNAVAILABLE', signal.aborted ? 'The process that was to send it is ending: send it again' : inLine, {written: false})
  } finally {
    clock.stop()
  }
}

const lineSeconds = 20
const inLine = `All the calls this CRM takes at once were in use for ${lineSeconds} s: send it again in a moment`

/** Seconds a request may still be under way after its intent: to leave, to be answered, and some. */
const answerSecondsOf = ({config}: Pick<Work, 'config'>) => config.CRM_TIMEOUT_SECONDS + 10

/** An admission nobody heard the end of may be kept: what it admitted was not sent, and is put back before it is asked for again. */
const admitSurely = async (work: Work, sending: Sending): Promise<Admission> => {
  for (let tried = 1; ; tried++) {
    try {
      return await admit(work, sending)
    } catch (error) {
      if (tried === 5 || !isWorthAgain(error)) throw error
      work.log.warn({err: error}, 'admit again')
      await sleep(100 * tried, undefined, {signal: work.signal})
      await work.db.transaction(tx => putBack(tx, sending.write)).catch(err => work.log.warn({err}, 'not put back'))
    }
  }
}

const isWorthAgain = (error: unknown) => !(error instanceof Refusal) && (isFateUnknown(error) || isPassing(error))

/** Of one request nothing is in flight while it is admitted: each batch is settled before the next. */
const putBack = async (tx: Tx, {id, org, runId}: Write) => {
  const run = await lockStanding(tx, org, runId)
  for (const send of await listOutsideSends(tx, run.no))
    if (send.write === id)
      await settleBatch(
        tx,
        run,
        send,
        send.keys.map(() => ({outcome: 'unsent'})),
        [],
      )
}

const admit = (work: Work, {write, module, flow, kind, units: asked}: Sending): Promise<Admission> =>
  work.db.transaction(async tx => {
    const run = await lockStanding(tx, write.org, write.runId)
    const open = new Set(await listOpenAts(tx, write.id))
    const units = asked.filter(({at}) => open.has(at))
    const shut = shutAcceptedBy(run) ?? (await pausedBy(tx, write))
    if (shut) return refuseAll(tx, write, units, shut)
    const admission = await admitUnits(tx, run, {write: write.id, module, flow, kind, units, answerSeconds: answerSecondsOf(work)})
    const results = admission.decided.map(end => resultOf(end, admission.stop))
    if (results.length) await keepResults(tx, {write: write.id, results})
    if (admission.inherited.length)
      await logInherited(tx, (await lockStanding(tx, write.org, write.runId))!, {module, flow, rows: admission.inherited})
    return admission
  })

const pausedBy = async (tx: Tx, {org, connectorId}: Write): Promise<Refusal | null> =>
  (await findConnector(tx, {org, id: connectorId}))?.writesPaused ? writesPaused() : null

const refuseAll = async (tx: Tx, {id: write}: Write, units: Unit[], refusal: Refusal): Promise<Admission> => {
  await keepResults(tx, {write, results: units.map(({at}) => refusedUnsent(at, refusal))})
  return {batch: null, admitted: [], decided: [], inherited: [], left: [], stop: null}
}

/** Results of items that are not sent. `again`: the same may be asked once more. */
const resultOf = ({at, why, recordId}: Admission['decided'][number], stop: Stop | null): ItemResult => {
  if (why === 'has_record') return {at, result: {ok: true, recordId, outcome: 'inherited'}, again: false}
  if (why === 'stopped') return notSent(at, {code: 'RUN_STOPPED', error: stop!.message, stop})
  if (why === 'sending') return underWay(at, soonMs)
  return notSent(at, {code: 'ROW_OF_ANOTHER_PARENT', error: 'A row of it was written in this run as a row of another parent'})
}

/** By then it is known what came of what is under way, or it is waited for once more. */
export const soonMs = 2_000

export const underWay = (at: number, retryAfterMs: number): ItemResult =>
  notSent(at, {code: 'WRITE_UNDER_WAY', error: 'The same is being written just now: ask again', retryAfterMs})

const notReached = ({at}: Unit): ItemResult =>
  notSent(at, {code: 'BUSY', error: "The rest of the run's limit is in flight: ask again when that is settled"})

/** What kept a whole request from being sent, as the result of one of its items. */
export const refusedUnsent = (at: number, {code, message, extra}: Refusal): ItemResult => notSent(at, {...extra, code, error: message})

export const notSent = (at: number, said: {code: string; error: string} & Record<string, unknown>): ItemResult => ({
  at,
  result: {ok: false, ...said, written: false},
  again: true,
})

/** Until its fate is known. Once the batch counts as dead the sweep tells it, and what comes after that is late. */
const settle = async (
  work: Work,
  {write, module, flow, kind}: Sending,
  {batch, admitted}: Admission,
  {ends, results, problem}: Answered,
) => {
  const rows = admitted.flatMap(({rows}) => rows)
  const settled = {
    ...{batch: batch!, module, flow, kind: KINDS[kind], write: write.id},
    ...{
      ats: admitted.flatMap(({at, rows}) => rows.map(() => at)),
      keys: rows.map(({key}) => key),
      numbers: rows.map(({number}) => number),
      attempts: rows.map(({attempt}) => attempt),
    },
    ...{targets: rows.map(({target}) => target), witness: rows.map(({witness}) => witness), fresh: rows.map(({fresh}) => fresh)},
    patches: rows.map(({patch}) => patch),
  }
  for (let tried = 1; ; tried++) {
    try {
      return await work.db.transaction(async tx => {
        const run = await lockStanding(tx, write.org, write.runId)
        const secondsLeft = await findSecondsLeft(tx, {run: run.no, batch: batch!})
        if (secondsLeft === null) return void (await settleLate(tx, run, settled, ends, results))
        await settleBatch(tx, run, {...settled, secondsLeft}, ends, results)
        if (problem) await keepProblem(tx, {id: write.id, problem: {crm: problem.crm, renews: problem.renews}})
        atPoint('before_settle')
      })
    } catch (error) {
      if (tried === 10 || !isWorthAgain(error)) throw error
      work.log.warn({err: error}, 'settle again')
      await sleep(100 * tried)
    }
  }
}

/** A write fails whole only for what comes before it: Postgres could not be asked for the connection's access. */
export const notAsked = (units: AdmittedUnit[], error: unknown): WriteAnswer => {
  if (!(isFateUnknown(error) || isPassing(error))) throw error
  return {results: units.map(() => ({ok: false, sent: false, refusal: notNow()})), clockOffsetMs: null}
}

export const notNow = () => new Refusal('UNAVAILABLE', 'It was not sent, for a reason of our own: send it again', {written: false})
