import test from 'ava'
import {sendOverage} from '../../../shared/billing/overage.ts'
import {sql} from '../../../sql/database.ts'
import {reconcileOrg} from '../../../workers/billing/reconcile.ts'
import type {WorkerDeps as WorkerTools} from '../../../workers/deps.ts'
import {sumUp} from '../../support/ai-credits.ts'
import {openBilling, settleMoney} from '../../support/billing.ts'
import {move} from '../../support/entitlements.ts'
import {ok} from '../../support/importing.ts'
import {openOverage} from '../../support/overage.ts'
import {openTopping} from '../../support/topups.ts'
import {until} from '../../support/until.ts'

/** Runs all operations on the money of an org at once. There must be no deadlock, and the ledger must equal the balance at every commit. */
test('concurrent reservations, settlements, runs, grants, plan changes, top-ups and switches keep the books right', async t => {
  const billing = await openBilling(t, {workers: [], webhook: false})
  const {house} = billing
  const rich = await openTopping(billing, {threshold: 600, monthlyCap: 100_000})
  const writer = await openOverage(billing, {rowsLimit: 50, ...rich})
  const tools = {...house.tools, drain: new AbortController().signal} as unknown as WorkerTools
  await writer.write(60)
  let isOver = false
  const odd: unknown[] = []
  const watch = async () => {
    while (!isOver) {
      const {account, entries, grants, holds, open} = await sumUp(house.db, rich.org)
      if (String(account) !== String(entries) || String(account) !== String(grants) || account[2] !== holds || holds !== open)
        odd.push({account, entries, grants, holds, open})
    }
  }
  const give = (n: number) => ({pool: n % 2 ? 'included' : 'purchased', credits: 7, ref: `gift ${n % 5}`})
  const staff = house.as(house.adminToken)
  const all = (times: number, work: (n: number) => Promise<unknown>) => Array.from({length: times}, (_, n) => work(n))
  const watching = watch()
  const done = await Promise.allSettled([
    ...all(30, () => rich.spend(30)),
    ...all(10, async n => {
      await rich.reserve(20, `left:${n}`)
      await rich.release(`left:${n}`)
    }),
    ...all(12, () => writer.write(9)),
    ...all(8, n => move(house, rich.org, ['team.1', 'business.1'][n % 2]!)),
    ...all(6, () => reconcileOrg(tools, rich.org)),
    ...all(10, n => ok(staff('POST', `/entitlements/admin/orgs/${rich.org}/credits`, give(n)), 200)),
    ...all(6, n => rich.ask({threshold: 600 + n})),
    ...all(6, () => rich.settle()),
    ...all(3, () => rich.start()),
    ...all(3, () => sendOverage(house.tools, {most: 100})),
    ...all(10, () => rich.call('GET', '/entitlements/me')),
  ])
  isOver = true
  await watching
  t.deepEqual(odd, [])
  const allowed = ['CREDITS_EXHAUSTED', 'LIMIT_ROWS', 'CHANGE_IN_PROGRESS']
  t.deepEqual(
    done.flatMap(one => (one.status === 'rejected' && !allowed.includes(one.reason.code) ? [String(one.reason)] : [])),
    [],
  )
  await rich.settle()
  await until(
    () => sendOverage(house.tools, {most: 100}),
    count => count === 0,
  )
  const told = writer.told().reduce((sum, {value = 0}) => sum + value, 0)
  const {rows} = await house.hot.query('select coalesce(sum(overage), 0)::int as beyond from usage_periods where org_id = $1', [rich.org])
  t.is(told, rows[0].beyond)
  t.true(told > 0)
  const said = `select about->>'percent' from notices where org_id = $1 group by kind, about->>'periodStart', about->>'percent' having count(*) > 1`
  t.deepEqual((await house.hot.query(`${said} and about->>'percent' is not null`, [rich.org])).rows, [], 'each mark of a period once')
  await settleMoney(t, billing)
  t.is(await house.db.oneFirst(sql.unsafe`select deadlocks::int from pg_stat_database where datname = current_database()`), 0 as never)
})
