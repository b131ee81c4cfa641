import {HOW} from '../../../sql/chain-rows.ts'
import {admitClaimed, type ClaimReservation, findRowState, isRecordHeld, isReserved, raiseAttempt} from '../../../sql/claim-reservations.ts'
import type {Tx} from '../../../sql/database.ts'
import {type ExternalRowState, putReleased} from '../../../sql/external-ledger.ts'
import {type ExternalRun, fixConnector, renewExternalRunLease} from '../../../sql/external-runs.ts'
import {claimRecords} from '../../../sql/record-claims.ts'
import {outcomeNo} from '../../../sql/run-log.ts'
import type {Refusal} from '../../errors.ts'
import {openCounts} from '../external/counts.ts'
import {countedOutcomeOf, writeSettlement} from '../external/settle.ts'
import {leaseSeconds} from '../lease-seconds.ts'
import {madeEarlier} from '../made-earlier.ts'
import {numberFlow} from '../names.ts'
import {type AdmittedClaim, findStop, holdsRecord, isAdmitted, isHeldElsewhere, isLeftAsIs, openForClaim, readRow} from './admit.ts'
import type {ClaimAnswer, ClaimInput} from './claim.ts'
import {keyOf} from './keys.ts'

/**
 * Assigns a reserved record to the row, or returns why not. `ended`: the run no longer writes. `reused`: the row has another record. `held`: the row
 * was sent again, the reservation was lost, or another row has the record. Returns a refusal if the run's row limit is reached.
 */
export const commitClaim = async (
  tx: Tx,
  input: ClaimInput,
  {reservation, crmOrg, seenAttempt}: AdmittedClaim,
): Promise<ClaimAnswer | Refusal> => {
  const run = await openForClaim(tx, input)
  if (!run) return {taken: false, why: 'ended'}
  const row = await readRow(tx, run, reservation)
  if (holdsRecord(row, reservation)) return {taken: true}
  // The answer to the row's create may have arrived since the reservation.
  if (row.recordId !== null && !isLeftAsIs(row)) return {taken: false, why: 'reused'}
  // An attempt in flight is a new attempt, because none was in flight when the claim was requested.
  const wasSentAgain = row.lastAttempt !== seenAttempt
  if (wasSentAgain || !(await isReserved(tx, reservation)) || (await isRecordHeld(tx, reservation))) return {taken: false, why: 'held'}
  const stop = await findStop(tx, run, row)
  if (stop) return stop
  const {chain, module, key, recordId} = reservation
  const isElsewhere = await isHeldElsewhere(tx, {...reservation, ...crmOrg, name: input.module.apiName})
  const claims = [{key, recordId}]
  // If another transaction claims the same record, the insert waits for that transaction.
  const isClaimed = !isElsewhere && (await claimRecords(tx, {...crmOrg, run: run.no, chain, module, claims})).length > 0
  if (!isClaimed) return {taken: false, why: 'held'}
  await commitRecord(tx, run, row, reservation, keyOf(input.keys, input.module))
  await fixConnector(tx, {no: run.no, connector: input.connector})
  return {taken: true}
}

/** Logs the claim and closes the row's open question. Meters a row that was never admitted. */
const commitRecord = async (tx: Tx, run: ExternalRun, row: ExternalRowState, reservation: ClaimReservation, matchKey: Buffer | null) => {
  const {module, key, recordId} = reservation
  const place = await findRowState(tx, reservation)
  const flow = await numberFlow(tx, {run: run.no, flow: place?.flow ?? null})
  const attempt = row.lastAttempt + 1
  const entry = {
    key,
    flow,
    number: place?.number ?? null,
    module,
    phase: 0,
    target: null,
    attempt,
    recordId,
    outcome: outcomeNo('created'),
    ...madeEarlier,
  }
  const leaseUntil = await renewExternalRunLease(tx, {no: run.no, seconds: leaseSeconds, taken: false})
  await writeSettlement(
    tx,
    {...run, leaseUntil},
    {
      batches: [],
      log: [entry],
      released: [],
      opened: [],
      closed: [{module, key}],
      counts: countsOf(module, row),
      kept: [{module, key, recordId, how: HOW.taken, matchKey}],
    },
  )
  if (!isAdmitted(row)) await admitClaimed(tx, {run: run.no, module, key, attempt})
  if (row.counted || !isAdmitted(row)) await raiseAttempt(tx, {run: run.no, module, key, attempt, outcome: entry.outcome})
  else await putReleased(tx, {run: run.no, rows: [{module, key, attempt, outcome: entry.outcome}]})
}

const countsOf = (module: number, row: ExternalRowState): number[] => {
  const counts = openCounts()
  const before = countedOutcomeOf(row)
  if (before) counts.add(module, before, -1)
  if (row.unchanged) counts.addUnchanged(module, -1)
  counts.add(module, 'created', 1)
  return counts.list()
}
