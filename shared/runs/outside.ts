import type {Pool, Tx} from '../../sql/database.ts'
import {setImportState} from '../../sql/imports.ts'
import {listOutsideSends} from '../../sql/outside-ledger.ts'
import {
  beginOutsideRun,
  closeOutsideRun,
  endOutsideRun,
  findHolder,
  fixConnector,
  lockImportNo,
  lockOutsideRun,
  renewOutsideLease,
  type StandingRun,
} from '../../sql/outside-runs.ts'
import {writeStop} from '../../sql/run-heads.ts'
import {findRun, type Run} from '../../sql/runs.ts'
import {listOpenWrites} from '../../sql/writes.ts'
import {settleRows} from '../entitlements/rows.ts'
import {Refusal} from '../errors.ts'
import {announceEnd} from '../notices/run-ended.ts'
import {refusePending} from '../writes/pending.ts'
import {settleDead} from '../writes/settle.ts'
import {leaseSeconds} from './lease-seconds.ts'
import {enterChain} from './outside-chain.ts'
import {carriesOn} from './stop.ts'

/**
 * External runs: an engine outside this service, such as a script, reads and plans their rows. Every call of the engine renews the lease
 * by which the run holds its import.
 */

export type Asker = {org: string; person: string; admin: boolean}

type Named = {runId: string; connector?: string}

/** The run to be written under, locked. Refuses in the house's one order; `connector`: the one the rows go to, where any do. */
export const openOutside = async (tx: Tx, asker: Asker, named: Named): Promise<StandingRun> =>
  openRun(tx, await lockOwn(tx, asker, named), named)

/** The first half of that: whose run it is. */
export const lockOwn = async (tx: Tx, asker: Asker, {runId, connector}: Named): Promise<StandingRun> => {
  const run = await lockStanding(tx, asker.org, runId)
  assertMine(run, asker)
  if (connector !== undefined && run.connectorId !== null && run.connectorId !== connector)
    throw new Refusal('RUN_CONNECTOR_MISMATCH', 'This run writes through another connection: authorise one for this', {written: false})
  return run
}

/** The second: whether it writes. */
export const openRun = async (tx: Tx, run: StandingRun, {connector}: Pick<Named, 'connector'>): Promise<StandingRun> => {
  const shut = shutBy(run)
  if (shut) throw shut
  if (run.state === 'authorised') await begin(tx, run)
  if (connector !== undefined) await fixConnector(tx, {no: run.no, connector})
  return {...run, connectorId: connector ?? run.connectorId}
}

/** Why no row may be written under the run by an engine outside; null where it may. */
export const shutBy = (run: StandingRun): Refusal | null => endedBy(run) ?? stoppedBy(run)

const stoppedBy = ({stop}: StandingRun) => stop && new Refusal('RUN_STOPPED', stop.message, {stop, written: false})

/**
 * The import is locked before its run, so that two who want both never wait for each other. The service's own engine has it the other way
 * round when it ends a run, so that import is left alone.
 */
export const lockStanding = async (tx: Tx, org: string, id: string): Promise<StandingRun> => {
  const found = await findRun(tx, {org, id})
  if (found?.importNo != null && found.engine !== 'worker') await lockImportNo(tx, found.importNo)
  const run = found && (await lockOutsideRun(tx, {org, id}))
  if (!run) throw new Refusal('RUN_NOT_FOUND', 'No such run')
  return run
}

export const assertMine = ({personId}: Pick<Run, 'personId'>, {person, admin}: Asker) => {
  if (personId !== person && !admin) throw new Refusal('NOT_YOUR_RUN', 'Another member authorised this run')
}

/** Whether rows may still be written under it by an engine outside. */
export const isWriting = (run: Pick<Run, 'state' | 'engine' | 'importNo' | 'leaseLive' | 'expiredAt'>) =>
  (run.state === 'authorised' && run.expiredAt === null) || (run.engine === 'outside' && run.state === 'writing' && !hasLapsed(run))

const hasLapsed = ({importNo, leaseLive}: Pick<Run, 'importNo' | 'leaseLive'>) => importNo !== null && !leaseLive

/** Why a write that was accepted while the run was open may not be sent any more. A closing run waits for its accepted writes. */
export const shutAcceptedBy = (run: StandingRun): Refusal | null =>
  run.engine === 'outside' && run.state === 'closing' && !run.stop ? null : shutBy(run)

const endedBy = (run: StandingRun): Refusal | null => {
  if (run.engine === 'worker')
    return new Refusal('RUN_USED', "This run's rows are written by the service's own engine: authorise another for yours", {written: false})
  if (run.state === 'ended' || run.state === 'closing') return hasEnded()
  if (run.expiredAt !== null) return new Refusal('FILE_GONE', 'This run has expired with its import: make a new one', {written: false})
  if (isWriting(run)) return null
  return new Refusal(
    'LEASE_LOST',
    'The run no longer holds its import: nothing was heard of it for too long. Take the lease again to go on',
    {written: false},
  )
}

/** An outside engine tells of its run, which lives by that. A stopped run may still be told of, one that has ended or lost its lease may not. */
export const renewOutside = async (tx: Tx, run: StandingRun) => {
  const ended = endedBy(run)
  if (ended) throw ended
  if (run.state === 'authorised') await begin(tx, run)
  else await setLease(tx, run, {taken: false})
}

/** Whether an outside engine's run has been closed. */
export const isOutsideOver = ({engine, state}: StandingRun) => engine === 'outside' && (state === 'closing' || state === 'ended')

/** Begins a run that was only authorised: it becomes an outside engine's, and takes its import. */
const begin = async (tx: Tx, run: StandingRun) => {
  if (run.importNo !== null) {
    await freeImport(tx, {org: run.org, importNo: run.importNo})
    await setImportState(tx, {no: run.importNo, state: 'running'})
  }
  await enterChain(tx, run)
  await beginOutsideRun(tx, run.no)
  Object.assign(run, {state: 'writing', engine: 'outside'})
  await setLease(tx, run, {taken: true})
}

/** `taken`: whoever held the run before has lost it. */
const setLease = async (tx: Tx, run: StandingRun, {taken}: {taken: boolean}) => {
  const until = await renewOutsideLease(tx, {no: run.no, seconds: leaseSeconds, taken})
  Object.assign(run, {leaseUntil: until, leaseLive: true}, taken && {fence: run.fence + 1, settleNo: 0})
  return until
}

/** An import is held by one run. An outside engine that has not been heard of for its lease holds nothing: its run ends here. The import is locked. */
export const freeImport = async (tx: Tx, {org, importNo}: {org: string; importNo: number}) => {
  const holder = await findHolder(tx, {importNo})
  if (!holder) return
  // Only a run of an outside engine is locked after its import: the service's own engine locks its run first.
  const run = holder.engine === 'outside' && !holder.leaseLive ? await lockStanding(tx, org, holder.id) : null
  const isFree =
    run && (run.state === 'ended' || (!run.leaseLive && (await endOutside(tx, run, {outcome: null, pending: 'refuse'})) === 'ended'))
  if (!isFree) throw new Refusal('IMPORT_RUNNING', 'A run of this import is under way: wait for it or cancel it')
}

/** Takes the lease of a run's import, or renews it. One that has lapsed is taken again while no other run has the import. */
export const takeLease = async (tx: Tx, asker: Asker, runId: string): Promise<{leaseUntil: string; leaseSeconds: number}> => {
  const run = await lockStanding(tx, asker.org, runId)
  assertMine(run, asker)
  const taken = run.engine === 'outside' && run.state === 'writing' && !run.leaseLive
  if (taken) await setLease(tx, run, {taken})
  else await renewOutside(tx, run)
  return {leaseUntil: run.leaseUntil!, leaseSeconds}
}

const hasEnded = () => new Refusal('RUN_ENDED', 'This run has ended and writes no more rows: authorise another', {written: false})

type EndOptions = {
  outcome: string | null
  /** Whether accepted writes are still sent, or refused at once. */
  pending: 'send' | 'refuse'
}

/**
 * Ends the run and gives its import back. While batches are in flight or accepted writes are pending, the run is `closing`: the last
 * settlement, the last write or the sweep ends it then.
 */
export const endOutside = async (tx: Tx, run: StandingRun, {outcome, pending}: EndOptions): Promise<'ended' | 'closing'> => {
  for (const send of await listOutsideSends(tx, run.no)) if (send.dead) await settleDead(tx, run, send)
  if (pending === 'refuse') await refusePending(tx, run, stoppedBy(run) ?? hasEnded())
  if ((await listOutsideSends(tx, run.no)).length > 0 || (await listOpenWrites(tx, run.no)).length > 0) {
    await closeOutsideRun(tx, {no: run.no, outcome})
    return 'closing'
  }
  await endOutsideRun(tx, {no: run.no, outcome})
  if (run.importNo !== null) await setImportState(tx, {no: run.importNo, state: 'done'})
  await announceEnd(tx, run)
  await settleRows(tx, run.id)
  return 'ended'
}

/** Ends a run whose connection was disconnected. What is in flight is settled; what was accepted is refused and logged. */
export const endDisconnected = async (db: Pool, {org, id}: {org: string; id: string}): Promise<void> =>
  db.transaction(async tx => {
    const run = await lockStanding(tx, org, id)
    if (run.engine !== 'outside' || run.state !== 'writing') return
    const message = `This connection was disconnected: connect it again. ${carriesOn(run)}`
    const stop = run.stop ?? {stopped: 'GRANT_ENDED', message}
    await writeStop(tx, {run: run.no, stop})
    await endOutside(tx, {...run, stop}, {outcome: null, pending: 'refuse'})
  })
