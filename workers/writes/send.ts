import {setTimeout as sleep} from 'node:timers/promises'
import {writesPaused} from '../../shared/crm/connectors/writing.ts'
import type {WriteAnswer} from '../../shared/crm/crm.ts'
import {startClock} from '../../shared/crm/deadline.ts'
import type {CrmError} from '../../shared/crm/error.ts'
import type {SlotShare} from '../../shared/crm/limits/budget.ts'
import type {Slots} from '../../shared/crm/limits/slots.ts'
import {Refusal} from '../../shared/errors.ts'
import {atPoint} from '../../shared/fault-point.ts'
import {
  type Admission,
  type AdmissionUnit,
  type AdmittedUnit,
  admitUnits,
  type ExternalWriteKind,
} from '../../shared/runs/external/admit.ts'
import {logInherited} from '../../shared/runs/external/log-inherited.ts'
import {findBlockOfAccepted, lockExternalRun} from '../../shared/runs/external/run.ts'
import {settleBatch, settleLate, type WriteEnd} from '../../shared/runs/external/settle.ts'
import {batchSent, rowsSettled} from '../../shared/telemetry/metrics/rows.ts'
import {findConnector} from '../../sql/connectors.ts'
import {isFateUnknown, isPassing, type Tx} from '../../sql/database.ts'
import {EXTERNAL_STEP_CODES, findSecondsLeft, listExternalSends} from '../../sql/external-ledger.ts'
import type {RunStop} from '../../sql/run-heads.ts'
import {type ItemResult, keepProblem, keepResults, listOpenAts, type Write} from '../../sql/writes.ts'
import {acquireBatchSlot, type BatchSlot} from '../engine/send/batch-slot.ts'
import type {Work} from '../worker.ts'

/**
 * The outcome of a batch: one end per row, in order, and at most one result per item. An unsent item without a result may be tried again.
 * `problem`: an answer of the CRM that applies to every row.
 */
export type SentUnits = {ends: WriteEnd[]; results: ItemResult[]; problem?: CrmError | null}

export type SendInput = {
  write: Write
  /** The numbers of the module and the flow among the names of the run. */
  module: number
  flow: number | null
  kind: ExternalWriteKind
  units: AdmissionUnit[]
  slots: SlotShare
  /** Whether the call has more than ten records. Such a call takes a large slot of the CRM. */
  isLarge: boolean
  /**
   * Sends the request once. Check `mayLeave` just before sending, because the intent may be too old by then. `secondsLeft`: the time for further reads.
   * The rest until the batch's deadline is for the settlement.
   */
  transmit(units: AdmittedUnit[], options: {signal: AbortSignal; mayLeave(): boolean; secondsLeft(): number}): Promise<SentUnits>
  /** Called with each answer before the settlement, while no slot is held. */
  beforeSettle?: ((units: AdmittedUnit[], answered: SentUnits) => Promise<void>) | undefined
}

const sendWithinMs = 5_000
/** The time reserved for the settlement before a batch's deadline. */
const settlementMs = 3_000

/**
 * Executes one request of an external engine: takes a slot, stores the intent, sends the request, gives the slot back, and settles. Items
 * for which the row limit has no room are tried again, and end as BUSY after the time of one call. Every item then has a result, is in a
 * batch in flight, or stays open for another try by the caller. A batch that was sent is always settled, here or as unanswered by the
 * sweep.
 */
export const sendUnits = async (work: Work, sending: SendInput): Promise<void> => {
  const {write, slots, isLarge, transmit} = sending
  let {units} = sending
  const answerMs = answerSecondsOf(work) * 1000
  const giveUpAt = performance.now() + answerMs
  while (units.length > 0) {
    const slot = await holdWithin(isLarge ? slots.large : slots.small, work.signal)
    try {
      const since = performance.now()
      const admission = await admitWithRetry(work, {...sending, units})
      if (admission.batch !== null) {
        atPoint('after_intent')
        const mayLeave = () => performance.now() - since < sendWithinMs
        const secondsLeft = () => Math.max(0, since + answerMs - settlementMs - performance.now()) / 1000
        const answered = await transmit(admission.admitted, {signal: work.signal, mayLeave, secondsLeft})
        slot.give()
        atPoint('after_send')
        batchSent('outside')
        await sending.beforeSettle?.(admission.admitted, answered)
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

/** Takes a slot. Waits at most 20 seconds, because a caller waits for the answer. Throws a Refusal if no slot is free or the process stops. */
export const holdWithin = async (slots: Slots, signal: AbortSignal): Promise<BatchSlot> => {
  const clock = startClock(lineSeconds, signal, 'No free call')
  try {
    return await acquireBatchSlot(slots, clock.signal)
  } catch {
    throw new Refusal('UNAVAILABLE', signal.aborted ? 'The process that was to send it is shutting down. Send it again' : inLine, {
      written: false,
    })
  } finally {
    clock.stop()
  }
}

const lineSeconds = 20
const inLine = `All concurrent calls to this CRM were in use for ${lineSeconds} s. Send it again in a moment`

/** Returns the seconds after an intent within which its request must be answered: the CRM time-out and a reserve for sending. */
const answerSecondsOf = ({config}: Pick<Work, 'config'>) => config.CRM_TIMEOUT_SECONDS + 10

/**
 * Admits the items and retries after a failure. If it is unknown whether an admission was committed, its rows may be admitted but were not
 * sent, so they are put back before the next try.
 */
const admitWithRetry = async (work: Work, sending: SendInput): Promise<Admission> => {
  for (let tried = 1; ; tried++) {
    try {
      return await admit(work, sending)
    } catch (error) {
      if (tried === 5 || !isWorthAgain(error)) throw error
      work.log.warn({err: error}, 'retrying admission')
      await sleep(100 * tried, undefined, {signal: work.signal})
      await work.db.transaction(tx => putBack(tx, sending.write)).catch(err => work.log.warn({err}, 'could not put back an admission'))
    }
  }
}

const isWorthAgain = (error: unknown) => !(error instanceof Refusal) && (isFateUnknown(error) || isPassing(error))

/**
 * Puts back rows of the request that were admitted and not sent. The request has no other rows in flight then, because each batch is
 * settled before the next.
 */
const putBack = async (tx: Tx, {id, org, runId}: Write) => {
  const run = await lockExternalRun(tx, org, runId)
  for (const send of await listExternalSends(tx, run.no))
    if (send.write === id)
      await settleBatch(
        tx,
        run,
        send,
        send.keys.map(() => ({outcome: 'unsent'})),
        [],
      )
}

const admit = (work: Work, {write, module, flow, kind, units: asked}: SendInput): Promise<Admission> =>
  work.db.transaction(async tx => {
    const run = await lockExternalRun(tx, write.org, write.runId)
    const open = new Set(await listOpenAts(tx, write.id))
    const units = asked.filter(({at}) => open.has(at))
    const block = findBlockOfAccepted(run) ?? (await pausedBy(tx, write))
    if (block) return refuseAll(tx, write, units, block)
    const admission = await admitUnits(tx, run, {write: write.id, module, flow, kind, units, answerSeconds: answerSecondsOf(work)})
    const results = admission.decided.map(end => resultOf(end, admission.stop))
    if (results.length) await keepResults(tx, {write: write.id, results})
    if (admission.inherited.length)
      await logInherited(tx, (await lockExternalRun(tx, write.org, write.runId))!, {module, flow, rows: admission.inherited})
    return admission
  })

const pausedBy = async (tx: Tx, {org, connectorId}: Write): Promise<Refusal | null> =>
  (await findConnector(tx, {org, id: connectorId}))?.writesPaused ? writesPaused() : null

const refuseAll = async (tx: Tx, {id: write}: Write, units: AdmissionUnit[], refusal: Refusal): Promise<Admission> => {
  await keepResults(tx, {write, results: units.map(({at}) => refusedUnsent(at, refusal))})
  return {batch: null, admitted: [], decided: [], inherited: [], left: [], stop: null}
}

/** Returns the result of an item that is not sent. `again`: the caller may send the same item again. */
const resultOf = ({at, why, recordId}: Admission['decided'][number], stop: RunStop | null): ItemResult => {
  if (why === 'has_record') return {at, result: {ok: true, recordId, outcome: 'inherited'}, again: false}
  if (why === 'stopped') return notSent(at, {code: 'RUN_STOPPED', error: stop!.message, stop})
  if (why === 'sending') return underWay(at, soonMs)
  return notSent(at, {code: 'ROW_OF_ANOTHER_PARENT', error: 'One of these rows was written to another parent in this run'})
}

/**
 * The delay in ms after which a caller may send the row again. The write in progress has probably ended by then; if not, the caller waits
 * once more.
 */
export const soonMs = 2_000

export const underWay = (at: number, retryAfterMs: number): ItemResult =>
  notSent(at, {code: 'WRITE_UNDER_WAY', error: 'The same row is being written. Send it again later', retryAfterMs})

const notReached = ({at}: AdmissionUnit): ItemResult =>
  notSent(at, {code: 'BUSY', error: "Rows in flight use up the run's limit. Send it again when they are settled"})

/** Returns a refusal of the whole request as the result of one of its items. */
export const refusedUnsent = (at: number, {code, message, extra}: Refusal): ItemResult => notSent(at, {...extra, code, error: message})

/** Codes for which the API reference asks clients to obey `Retry-After`. If such a refusal names no wait, its wait is `soonMs`. */
const temporaryCodes = ['BUSY', 'UNAVAILABLE']

export const notSent = (at: number, refusal: {code: string; error: string} & Record<string, unknown>): ItemResult => ({
  at,
  result: {ok: false, ...(temporaryCodes.includes(refusal.code) && {retryAfterMs: soonMs}), ...refusal, written: false},
  again: true,
})

/**
 * Settles a batch, with up to ten tries while the result is unknown. After the batch's deadline, the sweep settles it as unanswered, and
 * this settlement is late (`settleLate`).
 */
const settle = async (
  work: Work,
  {write, module, flow, kind}: SendInput,
  {batch, admitted}: Admission,
  {ends, results, problem}: SentUnits,
) => {
  const rows = admitted.flatMap(({rows}) => rows)
  const settled = {
    batch: batch!,
    module,
    flow,
    kind: EXTERNAL_STEP_CODES[kind],
    write: write.id,
    ats: admitted.flatMap(({at, rows}) => rows.map(() => at)),
    keys: rows.map(({key}) => key),
    numbers: rows.map(({number}) => number),
    attempts: rows.map(({attempt}) => attempt),
    targets: rows.map(({target}) => target),
    hasUniqueKeys: rows.map(({hasUniqueKey}) => hasUniqueKey),
    digests: rows.map(({digests}) => digests),
    fresh: rows.map(({fresh}) => fresh),
    patches: rows.map(({patch}) => patch),
  }
  let counts: number[] = []
  for (let tried = 1; ; tried++) {
    try {
      await work.db.transaction(async tx => {
        const run = await lockExternalRun(tx, write.org, write.runId)
        const secondsLeft = await findSecondsLeft(tx, {run: run.no, batch: batch!})
        if (secondsLeft === null) {
          const late = await settleLate(tx, run, settled, ends, results)
          // Nothing is late if an earlier try settled the batch and only the answer to its commit was lost.
          if (late.length > 0) counts = late
          return
        }
        counts = await settleBatch(tx, run, {...settled, secondsLeft}, ends, results)
        if (problem) await keepProblem(tx, {id: write.id, problem: {crm: problem.crm, renews: problem.renews, ...problem.extra}})
        atPoint('before_settle')
      })
      return rowsSettled(counts)
    } catch (error) {
      if (tried === 10 || !isWorthAgain(error)) throw error
      work.log.warn({err: error}, 'retrying settlement')
      await sleep(100 * tried)
    }
  }
}

/**
 * Returns the answer for a request that was not sent. A write throws only for failures before the send, when Postgres could not be queried
 * for the connection's access token.
 */
export const notAsked = (units: AdmittedUnit[], error: unknown): WriteAnswer => {
  if (!(isFateUnknown(error) || isPassing(error))) throw error
  return {results: units.map(() => ({ok: false, sent: false, refusal: notNow()})), clockOffsetMs: null}
}

export const notNow = () => new Refusal('UNAVAILABLE', 'It was not sent because of an internal error. Send it again', {written: false})
