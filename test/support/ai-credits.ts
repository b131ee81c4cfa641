import {randomUUID} from 'node:crypto'
import {z} from 'zod'
import {newId} from '../../shared/ids.ts'
import {type Db, type Pool, sql} from '../../sql/database.ts'
import {keepOrg} from '../../sql/orgs.ts'

/** Creates an org on `plan`. With `aiCredits`, its plan includes that many AI credits per period. */
export const makeOrg = async (db: Pool, {plan = 'free', aiCredits}: {plan?: string; aiCredits?: number} = {}): Promise<string> => {
  const key = aiCredits === undefined ? plan : `credits_${aiCredits}`
  await db.query(sql.unsafe`
    insert into plan_versions (id, key, version, name, rank, features, limits)
    select ${`${key}.9`}, ${key}, 9, name, rank, features, limits || ${sql.jsonb({aiCredits: aiCredits ?? 0})}
    from plan_versions where ${key !== plan} and id = (select id from plan_versions where key = ${plan} order by version desc limit 1)
    on conflict do nothing`)
  const given = {id: newId('org'), name: 'Test', dc: 'test', crmOrgId: randomUUID(), plan: key}
  return (await db.transaction(tx => keepOrg(tx, given))).id
}

export const setAhead = (db: Db, seconds: number) =>
  db.query(sql.unsafe`
    insert into clock_offset (ahead) values (make_interval(secs => ${seconds}))
    on conflict (only_row) do update set ahead = excluded.ahead`)

const sums = z.array(z.number())
const Sums = z.object({account: sums, entries: sums, grants: sums, holds: z.number(), open: z.number()})

/** Returns the sums of an org's AI credits, computed in three ways that must agree, and the reserved amounts by two tables that must agree. */
export const sumUp = (db: Pool, org: string) =>
  db.one(sql.type(Sums)`
    select array[included + included_fraction, purchased + purchased_fraction, reserved + reserved_fraction]::float8[] as account,
      (select array[coalesce(sum(included + included_fraction), 0), coalesce(sum(purchased + purchased_fraction), 0),
        coalesce(sum(reserved + reserved_fraction), 0)]::float8[] from credit_entries where org_id = ${org}) as entries,
      (select array[coalesce(sum(remaining + remaining_fraction) filter (where pool = 'included'), 0),
        coalesce(sum(remaining + remaining_fraction) filter (where pool = 'purchased'), 0),
        coalesce(sum(held + held_fraction), 0)]::float8[] from credit_grants where org_id = ${org}) as grants,
      (select coalesce(sum(amount + amount_fraction), 0)::float8 from credit_holds where org_id = ${org}) as holds,
      (select coalesce(sum(amount), 0)::float8 from credit_reservations where org_id = ${org} and state = 'reserved') as open
    from credit_accounts where org_id = ${org}`)
