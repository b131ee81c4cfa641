import {HOW} from '../../sql/chain-rows.ts'
import type {Tx} from '../../sql/database.ts'
import {putReleased, type RowStanding} from '../../sql/outside-ledger.ts'
import {fixConnector, renewOutsideLease, type StandingRun} from '../../sql/outside-runs.ts'
import {claimRecords} from '../../sql/record-claims.ts'
import {outcomeNo} from '../../sql/run-log.ts'
import {findPlace, isHeld, isReserved, type Reservation, raiseAttempt} from '../../sql/takes.ts'
import {leaseSeconds} from '../runs/lease-seconds.ts'
import {numberFlow} from '../runs/names.ts'
import {openCounts} from '../writes/counts.ts'
import {outcomeBefore, writeDown} from '../writes/settle.ts'
import {type Admitted, isHeldElsewhere, openForTake, owns, readRow} from './admit.ts'
import {keyOf} from './keys.ts'
import type {TakeAnswer, Taking} from './take.ts'

/** Writes a reserved record down as the row's, unless the run has ended since, or the row was sent again or lost its reservation. */
export const keepTake = async (tx: Tx, taking: Taking, {reservation, crmOrg, seenAttempt}: Admitted): Promise<TakeAnswer> => {
  const run = await openForTake(tx, taking)
  if (!run) return {taken: false, why: 'ended'}
  const row = await readRow(tx, run, reservation)
  if (owns(row, reservation)) return {taken: true}
  // The answer to its create may have come meanwhile.
  if (row.recordId !== null && row.how !== HOW.matched) return {taken: false, why: 'reused'}
  // An attempt in flight counts: the row had none when it was seen.
  const wasSentAgain = row.lastAttempt !== seenAttempt
  if (wasSentAgain || !(await isReserved(tx, reservation)) || (await isHeld(tx, reservation))) return {taken: false, why: 'held'}
  const {chain, module, key, recordId} = reservation
  const isElsewhere = await isHeldElsewhere(tx, {...reservation, ...crmOrg, name: taking.module.apiName})
  const claims = [{key, recordId}]
  // The insert waits for another transaction that claims the same record.
  const isClaimed = !isElsewhere && (await claimRecords(tx, {...crmOrg, run: run.no, chain, module, claims})).length > 0
  if (!isClaimed) return {taken: false, why: 'held'}
  await keep(tx, run, row, reservation, keyOf(taking.keys, taking.module))
  await fixConnector(tx, {no: run.no, connector: taking.connector})
  return {taken: true}
}

/** The row keeps its place in the meter, if it has one; its open question is answered. */
const keep = async (tx: Tx, run: StandingRun, row: RowStanding, reservation: Reservation, matchKey: Buffer | null) => {
  const {module, key, recordId} = reservation
  const place = await findPlace(tx, reservation)
  const flow = await numberFlow(tx, {run: run.no, flow: place?.flow ?? null})
  const attempt = row.lastAttempt + 1
  const entry = {
    ...{key, flow, number: place?.number ?? null, module, phase: 0, target: null, attempt, recordId},
    ...{
      outcome: outcomeNo('created'),
      code: 'MADE_EARLIER',
      message: 'Created by an earlier request for this row that the CRM did not answer',
    },
  }
  const leaseUntil = await renewOutsideLease(tx, {no: run.no, seconds: leaseSeconds, taken: false})
  await writeDown(
    tx,
    {...run, leaseUntil},
    {
      ...{batches: [], log: [entry], released: [], opened: [], closed: [{module, key}], counts: countsOf(module, row)},
      kept: [{module, key, recordId, how: HOW.taken, matchKey}],
    },
  )
  if (row.counted) await raiseAttempt(tx, {run: run.no, module, key, attempt, outcome: entry.outcome})
  else await putReleased(tx, {run: run.no, rows: [{module, key, attempt, outcome: entry.outcome}]})
}

/** One more made, and one less of what this run has the row as so far. */
const countsOf = (module: number, row: RowStanding): number[] => {
  const counts = openCounts()
  const before = outcomeBefore(row)
  if (before) counts.add(module, before, -1)
  counts.add(module, 'created', 1)
  return counts.list()
}
