import {z} from 'zod'
import {columnLiteral} from './array-literal.ts'
import {type Db, type Hot, prepare, sql, statementsIn, type Tx} from './database.ts'

type CrmOrg = {dc: string; crmOrgId: string}

const inCrmOrg = ({dc, crmOrgId}: CrmOrg) => sql.fragment`c.dc = ${dc} and c.crm_org_id = ${crmOrgId}`

/**
 * SQL that is true for runs that have not ended, or that ended after the chain began or at most two seconds before. Only these can have made a
 * record that the chain may claim.
 */
const isConcurrent = (chain: number) => sql.fragment`(r.ended_at is null or r.ended_at >=
  (select min(authorised_at) - interval '2 seconds' from runs where run_no = ${chain} or chain_no = ${chain}))`

type ElsewhereQuery = CrmOrg & {chain: number; module: string; records: string[]}

/**
 * Lists the `records` that a row of another retry chain created or claimed. Searches runs of all orgs that write to the same CRM org and overlap this
 * chain in time. `module` is an API name.
 */
export const listHeldElsewhere = (db: Db, {chain, module, records, ...crmOrg}: ElsewhereQuery) =>
  db.anyFirst(sql.type(z.object({recordId: z.string()}))`
    select held.record_id as "recordId"
    from runs r join connectors c on c.id = r.connector_id
      cross join lateral (
        select (m ->> 'no')::smallint as no from run_snapshots s, jsonb_path_query(s.document, '$.modules[*]') m
        where s.snapshot_no = r.snapshot_no and m ->> 'apiName' = ${module}
        union select no from run_names n where n.run_no = r.run_no and n.kind = 'module' and n.name = ${module}) named
      join chain_rows held on held.chain_no = coalesce(r.chain_no, r.run_no) and held.module_no = named.no
        and held.record_id = any(${sql.array(records, 'text')}) and held.how in (1, 2)
    where ${inCrmOrg(crmOrg)} and not r.dry_run and coalesce(r.chain_no, r.run_no) <> ${chain} and ${isConcurrent(chain)}
    union
    select record_id from record_claims c join runs r using (run_no)
    where ${inCrmOrg(crmOrg)} and record_id = any(${sql.array(records, 'text')}) and c.chain_no <> ${chain} and ${isConcurrent(chain)}`)

type MadeRow = {module: number; recordId: string}
type MadeQuery = {run: number; chain: number; rows: readonly MadeRow[]}

const nameOf = (run: string, no: string) => `coalesce(
  (select name from run_names n where n.run_no = ${run}.run_no and n.kind = 'module' and n.no = ${no}),
  (select m ->> 'apiName' from run_snapshots s, jsonb_path_query(s.document, '$.modules[*]') m
    where s.snapshot_no = ${run}.snapshot_no and (m ->> 'no')::smallint = ${no}))`

/**
 * SQL that finds records that rows of other chains made. It looks up the records first. Usually no other chain has any of them, so nothing else
 * is read.
 */
const madeElsewhereText = `
  select asked.module, held.record_id as "recordId"
  from unnest($3::smallint[], $4::text[]) as asked(module, record_id)
    join chain_rows held on held.record_id = asked.record_id and held.how in (1, 2) and held.chain_no <> $2::bigint
    join runs mine on mine.run_no = $1::bigint join connectors own on own.id = mine.connector_id
    join runs r on r.run_no = held.run_no and not r.dry_run
    join connectors c on c.id = r.connector_id and c.dc = own.dc and c.crm_org_id = own.crm_org_id
  where (r.ended_at is null or r.ended_at >= (
      select min(authorised_at) - interval '2 seconds' from runs where run_no = $2::bigint or chain_no = $2::bigint))
    and ${nameOf('r', 'held.module_no')} = ${nameOf('mine', 'asked.module')}`

const valuesOf = ({run, chain, rows}: MadeQuery) => [run, chain, columnLiteral(rows, 'module'), columnLiteral(rows, 'recordId')]

const madeElsewhereStatement = prepare<MadeRow>('made-elsewhere', madeElsewhereText)

/**
 * Lists the rows whose record a row of another chain at the same CRM org created or claimed. Ignores runs that ended more than two seconds
 * before the chain began, because a CRM that was set up again may reuse its ids.
 */
export const listMadeElsewhere = (hot: Hot, query: MadeQuery) => madeElsewhereStatement(hot, valuesOf(query))

export const listMadeElsewhereIn = async (tx: Tx, query: MadeQuery) =>
  (await statementsIn(tx).executeSql(madeElsewhereText, valuesOf(query))).rows as MadeRow[]

export const listClaimedElsewhere = (db: Db, {chain, connector, records}: {chain: number; connector: string; records: string[]}) =>
  db.anyFirst(sql.type(z.object({recordId: z.string()}))`
    select record_id as "recordId" from record_claims join connectors c using (dc, crm_org_id)
    where c.id = ${connector} and record_id = any(${sql.array(records, 'text')}) and chain_no <> ${chain}`)

type OpenCreate = {run: number; batch: number}

/**
 * Lists batches of creates that are in flight and may still be answered. They belong to other runs and create records in this module of the same CRM
 * org. `module` is an API name. Includes batches whose module has no known name.
 */
export const listOpenCreates = (db: Db, {run, module, ...crmOrg}: CrmOrg & {run: number; module: string}): Promise<readonly OpenCreate[]> =>
  db.any(sql.type(z.object({run: z.number(), batch: z.number()}))`
    select s.run_no as run, s.batch_no as batch
    from sends s join runs r using (run_no) join connectors c on c.id = r.connector_id
    where ${inCrmOrg(crmOrg)} and s.run_no <> ${run} and s.kind = 0 and not s.answered and s.deadline_at > lading_now()
      and not exists (
        select from run_snapshots x, jsonb_path_query(x.document, '$.modules[*]') m
        where x.snapshot_no = r.snapshot_no and (m ->> 'no')::smallint = s.module_no and m ->> 'apiName' <> ${module})
      and not exists (
        select from run_names n
        where n.run_no = s.run_no and n.kind = 'module' and n.no = s.module_no and n.name <> ${module})`)

type Claim = {key: string; recordId: string}
type ClaimInput = CrmOrg & {run: number; chain: number; module: number; claims: Claim[]}

/** Claims records for rows of one chain. Returns the granted records; another chain may have claimed the others first. */
export const claimRecords = (db: Db, {dc, crmOrgId, run, chain, module, claims}: ClaimInput) =>
  db.anyFirst(sql.type(z.object({recordId: z.string()}))`
    insert into record_claims as c (dc, crm_org_id, record_id, chain_no, module_no, row_key, run_no)
    select ${dc}, ${crmOrgId}, record_id, ${chain}, ${module}, row_key, ${run}
    from unnest(${sql.array(
      claims.map(({recordId}) => recordId),
      'text',
    )}, ${sql.array(
      claims.map(({key}) => key),
      'text',
    )}) as claim(record_id, row_key)
    order by record_id
    on conflict (dc, crm_org_id, record_id) do update set
      chain_no = excluded.chain_no, module_no = excluded.module_no, row_key = excluded.row_key, run_no = excluded.run_no
    where c.chain_no = excluded.chain_no or not exists (select from runs r where r.run_no = c.run_no and ${isConcurrent(chain)})
    returning record_id as "recordId"`)
