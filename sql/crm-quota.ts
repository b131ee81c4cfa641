import {z} from 'zod'
import {type Db, sql} from './database.ts'

const Empty = z.object({})
/** An org at the CRM: its data centre and its id there. Several connections may lead to the same CRM org. */
export type CrmOrg = {dc: string; crmOrgId: string}

export const CrmQuotaEntry = z.object({
  /** The remaining credits. Null if the count is unknown or older than a day. */
  remaining: z.number().nullable(),
  remainingAt: z.string().nullable(),
  allowance: z.number().nullable(),
  allowanceAtLeast: z.boolean(),
  edition: z.string().nullable(),
  spent: z.boolean(),
  spentAt: z.string().nullable(),
})
export type CrmQuotaRow = z.output<typeof CrmQuotaEntry>

const here = ({dc, crmOrgId}: CrmOrg) => sql.fragment`dc = ${dc} and crm_org_id = ${crmOrgId}`

/** Finds the last known CRM quota, or null if the CRM never reported one. */
export const findCrmQuota = (db: Db, org: CrmOrg) =>
  db.maybeOne(sql.type(CrmQuotaEntry)`
    select case when remaining_at > lading_now() - interval '24 hours' then remaining end as remaining, remaining_at as "remainingAt",
      allowance, allowance_at_least as "allowanceAtLeast", edition, spent_at is not null as spent, spent_at as "spentAt"
    from crm_allowances where ${here(org)}`)

/**
 * SQL that is true if a connection to the CRM org exists. Without this check, a late answer would be stored after the last connection was deleted.
 */
const isKnown = ({dc, crmOrgId}: CrmOrg) => sql.fragment`exists (select from connectors where dc = ${dc} and crm_org_id = ${crmOrgId})`

export const isQuotaExhausted = (db: Db, org: CrmOrg) =>
  db.exists(sql.type(Empty)`select from crm_allowances where ${here(org)} and spent_at is not null`)

/**
 * Lets one caller per `seconds` probe the CRM while the quota is exhausted. Returns `go` to that caller, `wait` to the others, and `not spent`
 * if the quota is not exhausted. A concurrent caller waits for the row lock and then gets `wait`.
 */
export const takeProbe = async (db: Db, org: CrmOrg, {seconds}: {seconds: number}): Promise<'go' | 'wait' | 'not spent'> => {
  const {rowCount} = await db.query(sql.type(Empty)`
    update crm_allowances set probe_at = lading_now()
    where ${here(org)} and spent_at is not null and probe_at <= lading_now() - make_interval(secs => ${seconds})`)
  if (rowCount === 1) return 'go'
  return (await isQuotaExhausted(db, org)) ? 'wait' : 'not spent'
}

/**
 * Marks the quota as exhausted. The call that the CRM refused counts as the first probe. If the quota is marked already, stores only that no credits
 * remain.
 */
export const keepQuotaExhausted = (db: Db, org: CrmOrg) =>
  db.query(sql.type(Empty)`
    insert into crm_allowances as a (dc, crm_org_id, spent_at, probe_at, remaining, remaining_at)
    select ${org.dc}, ${org.crmOrgId}, lading_now(), lading_now(), 0, lading_now() where ${isKnown(org)}
    on conflict (dc, crm_org_id) do update set remaining = 0, remaining_at = excluded.remaining_at,
      spent_at = coalesce(a.spent_at, excluded.spent_at),
      probe_at = case when a.spent_at is null then excluded.probe_at else a.probe_at end`)

export const clearQuotaExhausted = (db: Db, org: CrmOrg) =>
  db.query(sql.type(Empty)`update crm_allowances set spent_at = null, probe_at = null where ${here(org)} and spent_at is not null`)

export const keepRemainingQuota = (db: Db, org: CrmOrg, remaining: number) =>
  db.query(sql.type(Empty)`
    insert into crm_allowances (dc, crm_org_id, remaining, remaining_at)
    select ${org.dc}, ${org.crmOrgId}, ${remaining}::bigint, lading_now() where ${isKnown(org)}
    on conflict (dc, crm_org_id) do update set remaining = excluded.remaining, remaining_at = excluded.remaining_at`)

export type Licence = {edition: string; allowance: number | null; allowanceAtLeast: boolean}

export const keepLicence = (db: Db, org: CrmOrg, {edition, allowance, allowanceAtLeast}: Licence) =>
  db.query(sql.type(Empty)`
    insert into crm_allowances (dc, crm_org_id, edition, allowance, allowance_at_least)
    select ${org.dc}, ${org.crmOrgId}, ${edition}, ${allowance}::bigint, ${allowanceAtLeast} where ${isKnown(org)}
    on conflict (dc, crm_org_id) do update set edition = excluded.edition, allowance = excluded.allowance,
      allowance_at_least = excluded.allowance_at_least`)

/** Returns whether this connection's remaining credits may be read now, and stores the time if so. Returns true to one caller per `seconds`. */
export const takeQuotaCheck = async (db: Db, connector: string, {seconds}: {seconds: number}) => {
  const {rowCount} = await db.query(sql.type(Empty)`
    update connectors set credits_asked_at = lading_now()
    where id = ${connector} and (credits_asked_at is null or credits_asked_at <= lading_now() - make_interval(secs => ${seconds}))`)
  return rowCount === 1
}

/** Sets the time of a check that sent no call because the quota is exhausted. The new time is that of the last call that the CRM org was sent. */
export const returnQuotaCheck = (db: Db, connector: string) =>
  db.query(sql.type(Empty)`
    update connectors c set credits_asked_at = a.probe_at from crm_allowances a
    where c.id = ${connector} and (a.dc, a.crm_org_id) = (c.dc, c.crm_org_id) and a.probe_at is not null`)
