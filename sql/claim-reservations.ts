import {z} from 'zod'
import {HOW} from './chain-rows.ts'
import type {CrmOrg} from './crm-quota.ts'
import {type Db, sql, type Tx} from './database.ts'

const Empty = z.object({})

type RecordRef = {chain: number; module: number; key: string; recordId: string}
/** A reservation of the record for this row while the CRM is queried. `id`: the request that reserves it. */
export type ClaimReservation = RecordRef & {id: string; run: number}

/**
 * Deletes the row's earlier reservation in the module, because a row has only one reservation. Also deletes the record's expired reservation by any
 * row.
 */
export const releaseReservations = (tx: Tx, {chain, module, key, recordId}: RecordRef) =>
  tx.query(sql.type(Empty)`
    delete from takes
    where chain_no = ${chain} and module_no = ${module} and (row_key = ${key} or (record_id = ${recordId} and until <= lading_now()))`)

/** Reserves the record for the row. Returns false if another row has reserved the record. */
export const insertReservation = async (
  tx: Tx,
  {chain, module, key, recordId, id, run}: ClaimReservation,
  {seconds}: {seconds: number},
) => {
  const {rowCount} = await tx.query(sql.type(Empty)`
    insert into takes (chain_no, module_no, record_id, row_key, run_no, id, until)
    values (${chain}, ${module}, ${recordId}, ${key}, ${run}, ${id}, lading_now() + make_interval(secs => ${seconds}))
    on conflict do nothing`)
  return rowCount === 1
}

export const isReserved = (tx: Tx, {chain, module, key, recordId}: RecordRef) =>
  tx.exists(sql.type(Empty)`
    select from takes where chain_no = ${chain} and module_no = ${module} and record_id = ${recordId} and row_key = ${key}`)

/** Whether a row of another chain at the same CRM org has the record reserved. */
export const isReservedElsewhere = (tx: Tx, {chain, recordId, dc, crmOrgId}: RecordRef & CrmOrg) =>
  tx.exists(sql.type(Empty)`
    select from takes t join runs r using (run_no) join connectors c on c.id = r.connector_id
    where t.record_id = ${recordId} and t.chain_no <> ${chain} and t.until > lading_now() and c.dc = ${dc} and c.crm_org_id = ${crmOrgId}`)

/** Deletes the reservation of this request. Reservations of later requests for the same row stay. */
export const deleteReservation = (db: Db, {chain, module, recordId, id}: ClaimReservation) =>
  db.query(sql.type(Empty)`
    delete from takes where chain_no = ${chain} and module_no = ${module} and record_id = ${recordId} and id = ${id}`)

/**
 * Whether another row of the chain created, claimed or updated the record. Also true if any row, including this one, only found it or left it
 * unchanged. Limit: the row of an external engine keeps the record that it created, so its later update of another record is not found.
 */
export const isRecordHeld = (tx: Tx, {chain, module, key, recordId}: RecordRef) =>
  tx.exists(sql.type(Empty)`
    select from (
      select row_key, how from chain_rows
      where chain_no = ${chain} and module_no = ${module} and record_id = ${recordId} and how in (1, 2)
      union all
      select row_key, how from chain_rows
      where chain_no = ${chain} and module_no = ${module} and record_id = ${recordId} and how in (3, 4)
      union all
      select row_key, how from chain_rows
      where chain_no = ${chain} and module_no = ${module} and record_id = ${recordId} and how = 5) having_it
    where row_key <> ${key} or how in (${HOW.matched}, ${HOW.unchanged})`)

const Start = z.object({at: z.string(), now: z.string()})

/**
 * Returns when the first run of the chain was authorised, and the current time. Starts at `run` and follows at most `most` retries back to the
 * first run. Returns null if there are more retries. Returns null too if the run found is not the one whose number identifies the chain.
 */
export const findChainStart = (db: Db, {run, most}: {run: number; most: number}) =>
  db.maybeOne(sql.type(Start)`
    with recursive walked as (
      select run_no, org_id, retry_of, coalesce(chain_no, run_no) as first, authorised_at, 0 as depth from runs where run_no = ${run}
      union all
      select r.run_no, r.org_id, r.retry_of, first, r.authorised_at, depth + 1
      from walked join runs r on r.run_no = walked.retry_of and r.org_id = walked.org_id
      where depth < ${most})
    select authorised_at as at, lading_now() as now from walked where retry_of is null and run_no = first`)

/** Returns the flow and the row number from the row's unsettled entry, or null if the row has none. */
export const findRowState = (tx: Tx, {chain, module, key}: RecordRef) =>
  tx.maybeOne(sql.type(z.object({flow: z.string().nullable(), number: z.number().nullable()}))`
    select n.name as flow, nullif(row_number, 0) as number
    from unsettled u left join run_names n on n.run_no = u.run_no and n.kind = 'flow' and n.no = u.flow_no
    where chain_no = ${chain} and module_no = ${module} and row_key = ${key}`)

/** Stores the last attempt of an admitted row, and the outcome under which it is counted. The next attempt gets the next number. */
export const raiseAttempt = (
  tx: Tx,
  {run, module, key, attempt, outcome}: {run: number; module: number; key: string; attempt: number; outcome: number},
) =>
  tx.query(sql.type(Empty)`
    update admissions set last_attempt = ${attempt}, outcome = ${outcome}
    where run_no = ${run} and module_no = ${module} and row_key = ${key}`)

/** Admits and counts a claimed row that no batch admitted. In a run without batches, the external engine's own count may already include the row. */
export const admitClaimed = (tx: Tx, {run, module, key, attempt}: {run: number; module: number; key: string; attempt: number}) =>
  tx.query(sql.type(Empty)`
    with put as (
      insert into admissions (run_no, module_no, row_key, last_attempt) values (${run}, ${module}, ${key}, ${attempt}))
    update run_heads set counted = case when next_batch > 1 then counted + 1
      else greatest(counted, 1 + (select count(*) from admissions a where a.run_no = ${run})) end
    where run_no = ${run}`)
