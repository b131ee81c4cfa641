import type {CrmOrg} from '../../sql/allowances.ts'
import {HOW} from '../../sql/chain-rows.ts'
import {findConnector} from '../../sql/connectors.ts'
import type {Tx} from '../../sql/database.ts'
import {listRowStandings, type RowStanding} from '../../sql/outside-ledger.ts'
import {numberName, renewOutsideLease, type StandingRun} from '../../sql/outside-runs.ts'
import {listHeldElsewhere} from '../../sql/record-claims.ts'
import {insertTake, isHeld, isReservedElsewhere, type Reservation, releaseTakes} from '../../sql/takes.ts'
import {Refusal} from '../errors.ts'
import {leaseSeconds} from '../runs/lease-seconds.ts'
import {assertMine, isWriting, lockStanding, openOutside} from '../runs/outside.ts'
import {readChainStart} from '../runs/take.ts'
import type {TakeAnswer, Taking} from './take.ts'

/** A process that dies while the CRM is asked holds the record back for no longer; one that asks for longer may lose it. */
export const reservedSeconds = 120

/** `seenAttempt`: the row's last one as the take was asked. */
export type Admitted = {reservation: Reservation; crmOrg: CrmOrg; seenAttempt: number; chainStartMs: number}

/** Reserves the record for the row, which gives up whatever it had reserved in the module, or says at once what the answer is. */
export const admitTake = async (tx: Tx, taking: Taking): Promise<Admitted | TakeAnswer> => {
  const run = await openForTake(tx, taking)
  if (!run) return {taken: false, why: 'ended'}
  if (run.stop) throw new Refusal('RUN_STOPPED', run.stop.message, {stop: run.stop})
  const {no} = run.state === 'authorised' ? await openOutside(tx, taking.asker, taking) : run
  await renewOutsideLease(tx, {no, seconds: leaseSeconds, taken: false})
  const wanted = await placeOf(tx, run, taking)
  await releaseTakes(tx, wanted)
  const row = await readRow(tx, run, wanted)
  if (owns(row, wanted)) return {taken: true}
  if (row.recordId !== null && row.recordId !== wanted.recordId && row.how !== HOW.matched) return {taken: false, why: 'reused'}
  if (row.sending || (await isHeld(tx, wanted))) return {taken: false, why: 'held'}
  const chainStartMs = await readChainStart(tx, no)
  if (chainStartMs === null) return {taken: false, why: 'unread'}
  const {dc, crmOrgId} = (await findConnector(tx, {org: run.org, id: taking.connector}))!
  const crmOrg = {dc, crmOrgId}
  if (await isHeldElsewhere(tx, {...wanted, ...crmOrg, name: taking.module.apiName})) return {taken: false, why: 'held'}
  if (await isReservedElsewhere(tx, {...wanted, ...crmOrg})) return {taken: false, why: 'held'}
  const reservation = {...wanted, id: crypto.randomUUID(), run: no}
  const isFree = await insertTake(tx, reservation, {seconds: reservedSeconds})
  return isFree ? {reservation, crmOrg, seenAttempt: row.lastAttempt, chainStartMs} : {taken: false, why: 'held'}
}

/** The run, locked, in the house's one order of refusals; null where it is no longer writing, which is an answer and no refusal. */
export const openForTake = async (tx: Tx, {asker, runId, connector}: Taking): Promise<StandingRun | null> => {
  const run = await lockStanding(tx, asker.org, runId)
  assertMine(run, asker)
  if (run.connectorId !== null && run.connectorId !== connector)
    throw new Refusal('RUN_CONNECTOR_MISMATCH', 'This run writes through another connection: its records are not in this one')
  if (run.state === 'ended' || run.state === 'closing') return null
  if (run.engine === 'worker')
    throw new Refusal('RUN_USED', "This run's rows are written by the service's own engine, which takes for them")
  return isWriting(run) ? run : null
}

type ElsewhereQuery = Place & CrmOrg & {name: string}

/** Whether a row of another chain made or took the record, in any org that writes to the same CRM org. `name`: of the module. */
export const isHeldElsewhere = async (tx: Tx, {dc, crmOrgId, chain, recordId, name}: ElsewhereQuery): Promise<boolean> => {
  const query = {dc, crmOrgId, chain, module: name, records: [recordId]}
  return (await listHeldElsewhere(tx, query)).length > 0
}

const placeOf = async (tx: Tx, {no, chainNo}: StandingRun, {module, recordId, rowKey}: Taking) => ({
  ...{chain: chainNo ?? no, key: rowKey, recordId},
  module: await numberName(tx, {run: no, kind: 'module', name: module.apiName}),
})

type Place = Awaited<ReturnType<typeof placeOf>>

export const readRow = async (tx: Tx, {no}: Pick<StandingRun, 'no'>, {chain, module, key}: Place): Promise<RowStanding> => {
  const [row] = await listRowStandings(tx, {run: no, chain, module, keys: [key]})
  return row!
}

/** The record is the row's already: what it only matched and left as it is never becomes its own. */
export const owns = (row: RowStanding, {recordId}: Place) => row.recordId === recordId && row.how !== HOW.matched
