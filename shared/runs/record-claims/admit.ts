import {HOW} from '../../../sql/chain-rows.ts'
import {
  type ClaimReservation,
  insertReservation,
  isRecordHeld,
  isReservedElsewhere,
  releaseReservations,
} from '../../../sql/claim-reservations.ts'
import {findConnector} from '../../../sql/connectors.ts'
import type {CrmOrg} from '../../../sql/crm-quota.ts'
import type {Tx} from '../../../sql/database.ts'
import {type ExternalRowState, listExternalRowStates, listExternalSends} from '../../../sql/external-ledger.ts'
import {type ExternalRun, numberName, renewExternalRunLease} from '../../../sql/external-runs.ts'
import {listHeldElsewhere} from '../../../sql/record-claims.ts'
import {countAdmissions, type RunStop, writeStop} from '../../../sql/run-heads.ts'
import {Refusal} from '../../errors.ts'
import {assertOwner, isWriting, lockExternalRun, openExternalRun} from '../external/run.ts'
import {leaseSeconds} from '../lease-seconds.ts'
import {limitStop} from '../stop.ts'
import type {ClaimAnswer, ClaimInput} from './claim.ts'
import {readChainStart} from './verdict.ts'

/**
 * Lifetime of a reservation, in seconds. If a process dies during the CRM read, the record stays blocked for this long. A read that takes
 * longer may lose its reservation.
 */
export const reservedSeconds = 120

/** `seenAttempt`: the row's last attempt when the claim was requested. */
export type AdmittedClaim = {reservation: ClaimReservation; crmOrg: CrmOrg; seenAttempt: number; chainStartMs: number}

/**
 * Reserves the record for the row, after releasing the row's other reservations in the module. If no reservation is needed or possible,
 * returns the answer to the claim or a refusal. A refusal is returned, not thrown, because the release must be committed.
 */
export const admitClaim = async (tx: Tx, input: ClaimInput): Promise<AdmittedClaim | Refusal | ClaimAnswer> => {
  const current = await openForClaim(tx, input)
  if (!current) return {taken: false, why: 'ended'}
  // An authorised run joins its chain when it begins, so it must begin before the chain is read.
  const run = current.state === 'authorised' ? await openExternalRun(tx, input.asker, input) : current
  const {no} = run
  if (!run.stop) await renewExternalRunLease(tx, {no, seconds: leaseSeconds, taken: false})
  const wanted = await placeOf(tx, run, input)
  await releaseReservations(tx, wanted)
  const row = await readRow(tx, run, wanted)
  if (holdsRecord(row, wanted)) return {taken: true}
  if (run.stop) return runStopped(run.stop)
  if (row.recordId !== null && row.recordId !== wanted.recordId && !isLeftAsIs(row)) return {taken: false, why: 'reused'}
  if (row.sending || (await isRecordHeld(tx, wanted))) return {taken: false, why: 'held'}
  const chainStartMs = await readChainStart(tx, no)
  if (chainStartMs === null) return {taken: false, why: 'unread'}
  const {dc, crmOrgId} = (await findConnector(tx, {org: run.org, id: input.connector}))!
  const crmOrg = {dc, crmOrgId}
  if (await isHeldElsewhere(tx, {...wanted, ...crmOrg, name: input.module.apiName})) return {taken: false, why: 'held'}
  if (await isReservedElsewhere(tx, {...wanted, ...crmOrg})) return {taken: false, why: 'held'}
  const stop = await findStop(tx, run, row)
  if (stop) return stop
  const reservation = {...wanted, id: crypto.randomUUID(), run: no}
  const isFree = await insertReservation(tx, reservation, {seconds: reservedSeconds})
  return isFree ? {reservation, crmOrg, seenAttempt: row.lastAttempt, chainStartMs} : {taken: false, why: 'held'}
}

/** Returns null if the run no longer writes; the claim is then answered with `ended`. */
export const openForClaim = async (tx: Tx, {asker, runId, connector}: ClaimInput): Promise<ExternalRun | null> => {
  const run = await lockExternalRun(tx, asker.org, runId)
  assertOwner(run, asker)
  if (run.connectorId !== null && run.connectorId !== connector)
    throw new Refusal('RUN_CONNECTOR_MISMATCH', 'This run writes through another connection. Use that connection in the path')
  if (run.state === 'ended' || run.state === 'closing') return null
  if (run.engine === 'worker')
    throw new Refusal(
      'RUN_USED',
      "The service's own engine writes the rows of this run and claims their records. Use a run of your own engine",
    )
  return isWriting(run) ? run : null
}

/** Whether the row already counts towards the row limit: this run metered it, or it has an open question from an earlier run of the chain. */
export const isAdmitted = ({counted, kind}: ExternalRowState) => counted || kind !== null

const runStopped = (stop: RunStop) => new Refusal('RUN_STOPPED', stop.message, {stop})

/**
 * Returns the refusal that keeps a row from claiming a record, or null. Only a row that is not admitted can be refused, because its claim would use a
 * new row of the limit. If the limit is reached, writes the run's stop, or returns BUSY while rows in flight may free a row. In a run without
 * batches, the engine reports `counted`, which may include this row, so admissions are counted instead.
 */
export const findStop = async (tx: Tx, run: ExternalRun, row: ExternalRowState): Promise<Refusal | null> => {
  if (isAdmitted(row)) return null
  if (run.stop) return runStopped(run.stop)
  const counted = run.nextBatch > 1 ? run.counted : await countAdmissions(tx, run.no)
  if (counted < run.rowsLimit) return null
  if ((await listExternalSends(tx, run.no)).length > 0)
    return new Refusal('BUSY', 'Rows in flight use all remaining rows of this run. Try again when the CRM has answered them', {
      retryAfterMs: 2_000,
    })
  const stop = limitStop(run)
  await writeStop(tx, {run: run.no, stop})
  return runStopped(stop)
}

type ElsewhereQuery = ClaimPlace & CrmOrg & {name: string}

/** Whether a row of another chain made or claimed the record, in any org that writes to the same CRM org. `name`: API name of the module. */
export const isHeldElsewhere = async (tx: Tx, {dc, crmOrgId, chain, recordId, name}: ElsewhereQuery): Promise<boolean> => {
  const query = {dc, crmOrgId, chain, module: name, records: [recordId]}
  return (await listHeldElsewhere(tx, query)).length > 0
}

const placeOf = async (tx: Tx, {no, chainNo}: ExternalRun, {module, recordId, rowKey}: ClaimInput) => ({
  chain: chainNo ?? no,
  key: rowKey,
  recordId,
  module: await numberName(tx, {run: no, kind: 'module', name: module.apiName}),
})

type ClaimPlace = Awaited<ReturnType<typeof placeOf>>

export const readRow = async (tx: Tx, {no}: Pick<ExternalRun, 'no'>, {chain, module, key}: ClaimPlace): Promise<ExternalRowState> => {
  const [row] = await listExternalRowStates(tx, {run: no, chain, module, keys: [key]})
  return row!
}

/** Whether the row found its record and did not write it, so the row may still claim another record. */
export const isLeftAsIs = ({how}: ExternalRowState) => how === HOW.matched || how === HOW.unchanged

export const holdsRecord = (row: ExternalRowState, {recordId}: ClaimPlace) => row.recordId === recordId && !isLeftAsIs(row)
