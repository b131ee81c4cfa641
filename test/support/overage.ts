import {z} from 'zod'
import {readPlanStatus} from '../../shared/billing/entitlements/plan-status.ts'
import {reserveForRun, settleRows} from '../../shared/billing/entitlements/rows.ts'
import {switchOverage} from '../../shared/billing/overage-switch.ts'
import {newId} from '../../shared/ids.ts'
import {sql} from '../../sql/database.ts'
import {insertHead} from '../../sql/run-heads.ts'
import {insertRun} from '../../sql/runs.ts'
import {type Billing, seedSubscription} from './billing.ts'
import {until} from './until.ts'

type OpenOverageInput = {interval?: 'month' | 'year'; rowsLimit?: number; org?: string; customer?: string}

/**
 * Creates an org with `rowsLimit` rows per period, overage on, and a function that counts written rows. Uses the given org and customer, or
 * creates them.
 */
export const openOverage = async (billing: Billing, {interval = 'month', rowsLimit = 10, ...known}: OpenOverageInput = {}) => {
  const {house, payment} = billing
  const org = known.org ?? (await house.makeOrg()).org
  const customer = known.customer ?? ((await seedSubscription(billing, {org, planKey: 'team', interval})).customer as string)
  await switchOverage(house.tools, {org, via: 'session'}, {enabled: true})
  // The provider's clock has whole seconds, so the period may begin up to a second from now.
  const {window} = await until(
    () => readPlanStatus(house.db, org),
    ({anchor, now}) => anchor <= now,
  )
  await house.hot.query(
    'insert into usage_periods (org_id, starts_at, ends_at, rows_limit) values ($1, $2, $3, $4) on conflict do nothing',
    [org, window.startsAt, window.endsAt, rowsLimit],
  )
  const begin = (rows: number) =>
    house.db.transaction(async tx => {
      const runId = newId('run')
      const no = await insertRun(tx, {id: runId, org, person: null, connector: null, importNo: null, declaredRows: rows})
      await insertHead(tx, {run: no, rowsLimit: rows, limitBy: 'declaration'})
      await reserveForRun(tx, await readPlanStatus(tx, org), {runId, rows, fewer: false})
      return runId
    })
  const end = (runId: string, rows: number) =>
    house.db.transaction(async tx => {
      await tx.query(sql.unsafe`update run_heads set counted = ${rows} where run_no = (select run_no from runs where id = ${runId})`)
      await settleRows(tx, runId)
      return runId
    })
  const Row = z.object({identifier: z.string(), rows: z.number(), sent: z.boolean(), attempts: z.number()})
  return {
    org,
    customer,
    begin,
    end,
    write: async (rows: number) => end(await begin(rows), rows),
    reports: () =>
      house.db.any(sql.type(Row)`
        select identifier, rows, sent_at is not null as sent, attempts from overage_reports where org_id = ${org} order by at, identifier`),
    told: () => payment.world.store.all('~usage').filter(one => one.customer === customer) as {id: string; value?: number}[],
    notices: async () =>
      (await house.hot.query(`select about from notices where org_id = $1 and kind = 'usage.rows' order by notice_no`, [org])).rows.map(
        ({about}) => about,
      ),
  }
}
