import {z} from 'zod'
import type {CrmOrg} from './allowances.ts'
import {HOW} from './chain-rows.ts'
import {type Db, sql, type Tx} from './database.ts'

const Empty = z.object({})

/** A record, and the row of a chain that asks for it. */
type Wanted = {chain: number; module: number; key: string; recordId: string}
/** The record is this row's to take while its CRM is asked. `id`: of this one asking. */
export type Reservation = Wanted & {id: string; run: number}

/** A row has one reservation in a module: whatever it had goes, and so does anybody's of this record that has expired. */
export const releaseTakes = (tx: Tx, {chain, module, key, recordId}: Wanted) =>
  tx.query(sql.type(Empty)`
    delete from takes
    where chain_no = ${chain} and module_no = ${module} and (row_key = ${key} or (record_id = ${recordId} and until <= lading_now()))`)

/** False where another row has the record reserved. */
export const insertTake = async (tx: Tx, {chain, module, key, recordId, id, run}: Reservation, {seconds}: {seconds: number}) => {
  const {rowCount} = await tx.query(sql.type(Empty)`
    insert into takes (chain_no, module_no, record_id, row_key, run_no, id, until)
    values (${chain}, ${module}, ${recordId}, ${key}, ${run}, ${id}, lading_now() + make_interval(secs => ${seconds}))
    on conflict do nothing`)
  return rowCount === 1
}

/** Whether the row still has the record reserved, whichever request reserved it. */
export const isReserved = (tx: Tx, {chain, module, key, recordId}: Wanted) =>
  tx.exists(sql.type(Empty)`
    select from takes where chain_no = ${chain} and module_no = ${module} and record_id = ${recordId} and row_key = ${key}`)

/** Whether a row of another chain that writes to the same CRM org has the record reserved. */
export const isReservedElsewhere = (tx: Tx, {chain, recordId, dc, crmOrgId}: Wanted & CrmOrg) =>
  tx.exists(sql.type(Empty)`
    select from takes t join runs r using (run_no) join connectors c on c.id = r.connector_id
    where t.record_id = ${recordId} and t.chain_no <> ${chain} and t.until > lading_now() and c.dc = ${dc} and c.crm_org_id = ${crmOrgId}`)

/** Deletes the reservation of this request. A later request of the same row keeps its own. */
export const deleteTake = (db: Db, {chain, module, recordId, id}: Reservation) =>
  db.query(sql.type(Empty)`
    delete from takes where chain_no = ${chain} and module_no = ${module} and record_id = ${recordId} and id = ${id}`)

/** Whether another row of the chain has the record, however it came by it, or some row matched it and left it as it is. */
export const isHeld = (tx: Tx, {chain, module, key, recordId}: Wanted) =>
  tx.exists(sql.type(Empty)`
    select from (
      select row_key, how from chain_rows
      where chain_no = ${chain} and module_no = ${module} and record_id = ${recordId} and how in (1, 2)
      union all
      select row_key, how from chain_rows
      where chain_no = ${chain} and module_no = ${module} and record_id = ${recordId} and how in (3, 4)) having_it
    where row_key <> ${key} or how = ${HOW.matched}`)

const Start = z.object({at: z.string(), now: z.string()})

/**
 * When the first run of a chain was authorised, and what the database's clock says now. Walked run by run, at most `most` before the
 * run itself; null where the chain is longer, or does not lead to the run that names it.
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

/** Where the row's open question says that it stands; null where it has none. */
export const findPlace = (tx: Tx, {chain, module, key}: Wanted) =>
  tx.maybeOne(sql.type(z.object({flow: z.string().nullable(), number: z.number().nullable()}))`
    select n.name as flow, nullif(row_number, 0) as number
    from unsettled u left join run_names n on n.run_no = u.run_no and n.kind = 'flow' and n.no = u.flow_no
    where chain_no = ${chain} and module_no = ${module} and row_key = ${key}`)

/** The row, which stands in the meter, counts its attempts on from this one, and is counted as what it came to. */
export const raiseAttempt = (
  tx: Tx,
  {run, module, key, attempt, outcome}: {run: number; module: number; key: string; attempt: number; outcome: number},
) =>
  tx.query(sql.type(Empty)`
    update admissions set last_attempt = ${attempt}, outcome = ${outcome}
    where run_no = ${run} and module_no = ${module} and row_key = ${key}`)
