import type {Pool, Tx} from '../../../sql/database.ts'
import {listExternalSends} from '../../../sql/external-ledger.ts'
import {
  beginExternalRun,
  closeExternalRun,
  type ExternalRun,
  endExternalRunRow,
  findHolder,
  fixConnector,
  lockExternalRunRow,
  lockImportNo,
  renewExternalRunLease,
} from '../../../sql/external-runs.ts'
import {setImportState} from '../../../sql/imports.ts'
import {writeStop} from '../../../sql/run-heads.ts'
import {findRun, type Run} from '../../../sql/runs.ts'
import {listOpenWrites} from '../../../sql/writes.ts'
import {settleRows} from '../../billing/entitlements/rows.ts'
import {Refusal} from '../../errors.ts'
import {announceEnd} from '../../notifications/run-ended.ts'
import {leaseSeconds} from '../lease-seconds.ts'
import {adviseToContinue} from '../stop.ts'
import {findUndoDays} from '../undo/window.ts'
import {enterChain} from './chain.ts'
import {logUnsent, refusePending} from './pending.ts'
import {settleAbandonedSend} from './settle.ts'

/**
 * The caller of an external run: a client's own engine, such as a script, which reads and plans the rows. `admin`: the caller may use runs that
 * other members authorised.
 */

export type RunCaller = {org: string; person: string; admin: boolean}

type ExternalRunRef = {runId: string; connector?: string}

/**
 * Locks the run and begins it if it has not begun. Throws if the run accepts no writes. `connector`: the connection to write to, if there are rows to
 * write.
 */
export const openExternalRun = async (tx: Tx, runCaller: RunCaller, externalRunRef: ExternalRunRef): Promise<ExternalRun> =>
  openLockedRun(tx, await lockOwnExternalRun(tx, runCaller, externalRunRef), externalRunRef)

/** The first part of `openExternalRun`. */
export const lockOwnExternalRun = async (tx: Tx, runCaller: RunCaller, {runId, connector}: ExternalRunRef): Promise<ExternalRun> => {
  const run = await lockExternalRun(tx, runCaller.org, runId)
  assertOwner(run, runCaller)
  if (connector !== undefined && run.connectorId !== null && run.connectorId !== connector)
    throw new Refusal('RUN_CONNECTOR_MISMATCH', 'This run writes through another connection. Authorise a run for this connection', {
      written: false,
    })
  return run
}

/**
 * Checks that the run accepts writes, and begins the run or renews its lease, because not every write sends a batch. The second part of
 * `openExternalRun`.
 */
export const openLockedRun = async (tx: Tx, run: ExternalRun, {connector}: Pick<ExternalRunRef, 'connector'>): Promise<ExternalRun> => {
  const block = findBlock(run)
  if (block) throw block
  if (run.state === 'authorised') await beginWriting(tx, run)
  else await setLease(tx, run, {taken: false})
  if (connector !== undefined) await fixConnector(tx, {no: run.no, connector})
  return {...run, connectorId: connector ?? run.connectorId}
}

const findBlock = (run: ExternalRun): Refusal | null => (wasCancelledEarly(run) ? findStop(run) : (findEnd(run) ?? findStop(run)))

/** Whether the run was cancelled before an engine used it. Its engine must see the stop, and not authorise another run because this one ended. */
const wasCancelledEarly = ({state, engine, stop}: ExternalRun) => state === 'ended' && engine === null && stop?.stopped === 'CANCELLED'

const findStop = ({stop}: ExternalRun) => stop && new Refusal('RUN_STOPPED', stop.message, {stop, written: false})

/**
 * Locks the import of the run, then the run, so that two transactions cannot deadlock. The service's own engine locks the run first when it ends a
 * run, so the imports of its runs are not locked here.
 */
export const lockExternalRun = async (tx: Tx, org: string, id: string): Promise<ExternalRun> => {
  const found = await findRun(tx, {org, id})
  if (found?.importNo != null && found.engine !== 'worker') await lockImportNo(tx, found.importNo)
  const run = found && (await lockExternalRunRow(tx, {org, id}))
  if (!run) throw new Refusal('RUN_NOT_FOUND', 'No such run')
  return run
}

export const assertOwner = ({personId}: Pick<Run, 'personId'>, {person, admin}: RunCaller) => {
  if (personId !== person && !admin) throw new Refusal('NOT_YOUR_RUN', 'Another member authorised this run')
}

/** Whether the state and the lease of the run allow an external engine to write rows. A stop of the run is not considered. */
export const isWriting = (run: Pick<Run, 'state' | 'engine' | 'importNo' | 'leaseLive' | 'expiredAt'>) =>
  (run.state === 'authorised' && run.expiredAt === null) || (run.engine === 'outside' && run.state === 'writing' && !hasLapsed(run))

const hasLapsed = ({importNo, leaseLive}: Pick<Run, 'importNo' | 'leaseLive'>) => importNo !== null && !leaseLive

/** Returns why an accepted write may no longer be sent, or null if it may. A closing run without a stop still sends its accepted writes. */
export const findBlockOfAccepted = (run: ExternalRun): Refusal | null =>
  run.engine === 'outside' && run.state === 'closing' && !run.stop ? null : findBlock(run)

const findEnd = (run: ExternalRun): Refusal | null => {
  if (run.engine === 'worker')
    return new Refusal('RUN_USED', "The service's own engine writes the rows of this run. Authorise another run for your engine", {
      written: false,
    })
  if (run.state === 'ended' || run.state === 'closing') return hasEnded(run)
  if (run.expiredAt !== null) return new Refusal('FILE_GONE', 'This run has expired with its import. Create a new import', {written: false})
  if (isWriting(run)) return null
  return new Refusal(
    'LEASE_LOST',
    'The lease of the run expired, because its engine made no call for too long. Take the lease again to continue',
    {written: false},
  )
}

/**
 * Renews the lease of an external run, and begins an authorised run. A stopped run can still renew its lease in order to report. Refuses a run
 * that is closing, ended, expired or used by the service's own engine, or whose lease is lost.
 */
export const renewExternalLease = async (tx: Tx, run: ExternalRun) => {
  const ended = findEnd(run)
  if (ended) throw ended
  if (run.state === 'authorised') await beginWriting(tx, run)
  else await setLease(tx, run, {taken: false})
}

export const isExternalOver = ({engine, state}: ExternalRun) => engine === 'outside' && (state === 'closing' || state === 'ended')

/** Makes an authorised run an external run, which keeps other runs off its import. */
const beginWriting = async (tx: Tx, run: ExternalRun) => {
  if (run.importNo !== null) {
    await freeImport(tx, {org: run.org, importNo: run.importNo})
    await setImportState(tx, {no: run.importNo, state: 'running'})
  }
  await enterChain(tx, run)
  // Only a run of an import can be undone.
  const undoDays = run.importNo === null ? null : await findUndoDays(tx, run.org)
  await beginExternalRun(tx, {no: run.no, undoDays})
  Object.assign(run, {state: 'writing', engine: 'outside'})
  await setLease(tx, run, {taken: true})
}

/** Extends the lease. `taken`: the lease is taken anew, so the fence rises and writes of the previous holder are refused. */
const setLease = async (tx: Tx, run: ExternalRun, {taken}: {taken: boolean}) => {
  const until = await renewExternalRunLease(tx, {no: run.no, seconds: leaseSeconds, taken})
  Object.assign(run, {leaseUntil: until, leaseLive: true}, taken && {fence: run.fence + 1, settleNo: 0})
  return until
}

/**
 * Throws IMPORT_RUNNING if a run that writes is active on the import. Ends an external run with an expired lease instead, and throws only while that
 * run is `closing`. The caller must have locked the import.
 */
export const freeImport = async (tx: Tx, {org, importNo}: {org: string; importNo: number}) => {
  const holder = await findHolder(tx, {importNo})
  if (!holder) return
  // `lockExternalRun` locks the import before the run. The service's own engine locks the run first, so its runs are not locked here.
  const run = holder.engine === 'outside' && !holder.leaseLive ? await lockExternalRun(tx, org, holder.id) : null
  const isFree =
    run && (run.state === 'ended' || (!run.leaseLive && (await endExternalRun(tx, run, {outcome: null, pending: 'refuse'})) === 'ended'))
  if (!isFree) throw new Refusal('IMPORT_RUNNING', 'A run of this import is in progress. Wait for it to end, or cancel it')
}

/** An expired lease can be taken again until another run takes the import. */
export const takeLease = async (tx: Tx, runCaller: RunCaller, runId: string): Promise<{leaseUntil: string; leaseSeconds: number}> => {
  const run = await lockExternalRun(tx, runCaller.org, runId)
  assertOwner(run, runCaller)
  const taken = run.engine === 'outside' && run.state === 'writing' && !run.leaseLive
  if (taken) await setLease(tx, run, {taken})
  else await renewExternalLease(tx, run)
  return {leaseUntil: run.leaseUntil!, leaseSeconds}
}

const hasEnded = ({importNo}: Pick<Run, 'importNo'>) =>
  importNo === null
    ? new Refusal('RUN_ENDED', 'The run has ended, so it does not accept further rows. Authorise another run', {written: false})
    : new Refusal('LEASE_LOST', 'The run has ended and gave up the lease of its import. Authorise another run', {written: false})

type EndOptions = {
  outcome: string | null
  /** Whether accepted writes that are not in flight are still sent, or refused now. */
  pending: 'send' | 'refuse'
}

/**
 * Ends the run and frees its import. While batches are in flight or accepted writes are pending, the run is `closing`. The last settlement,
 * the last write or the periodic sweep then ends the run. Accepted rows that were never sent are logged at the end.
 */
export const endExternalRun = async (tx: Tx, run: ExternalRun, {outcome, pending}: EndOptions): Promise<'ended' | 'closing'> => {
  for (const send of await listExternalSends(tx, run.no)) if (send.dead) await settleAbandonedSend(tx, run, send)
  if (pending === 'refuse') await refusePending(tx, run, findStop(run) ?? hasEnded(run))
  if ((await listExternalSends(tx, run.no)).length > 0 || (await listOpenWrites(tx, run.no)).length > 0) {
    await closeExternalRun(tx, {no: run.no, outcome})
    return 'closing'
  }
  await logUnsent(tx, run)
  await endExternalRunRow(tx, {no: run.no, outcome})
  if (run.importNo !== null) await setImportState(tx, {no: run.importNo, state: 'done'})
  await announceEnd(tx, run)
  await settleRows(tx, run.id)
  return 'ended'
}

/**
 * Stops and ends an external run whose connection was disconnected. Settles overdue batches; refuses and logs accepted writes that were not
 * sent.
 */
export const endDisconnected = async (db: Pool, {org, id}: {org: string; id: string}): Promise<void> =>
  db.transaction(async tx => {
    const run = await lockExternalRun(tx, org, id)
    if (run.engine !== 'outside' || run.state !== 'writing') return
    const message = `This connection was disconnected. Connect it again. ${adviseToContinue(run)}`
    const stop = run.stop ?? {stopped: 'GRANT_ENDED', message}
    await writeStop(tx, {run: run.no, stop})
    await endExternalRun(tx, {...run, stop}, {outcome: null, pending: 'refuse'})
  })
