import anyTest, {type TestFn} from 'ava'
import {grantCredits} from '../../../../shared/billing/credits/grant.ts'
import {reserveCredits, settleCredits} from '../../../../shared/billing/credits/reserve.ts'
import {jobs} from '../../../../shared/jobs.ts'
import {markPassed} from '../../../../shared/notifications/use.ts'
import {openQueue, type Queue} from '../../../../shared/queue.ts'
import {openLog} from '../../../../shared/telemetry/log.ts'
import {makeOrg, setAhead} from '../../../support/ai-credits.ts'
import {openLedger} from '../../../support/running.ts'

const test = anyTest.serial as TestFn
let opened: Awaited<ReturnType<typeof openLedger>>
let queue: Queue
test.before(async t => {
  opened = await openLedger(t.title)
  queue = await openQueue(opened.url, jobs, {log: openLog('test', 'silent'), upkeep: false, connections: 1})
})
test.after.always(async () => {
  await queue?.stop({graceful: false})
  await opened?.close()
})

const spend = (org: string, ref: string, amount: number) =>
  opened.db.transaction(async tx => {
    await reserveCredits(tx, queue, {org, feature: 'test', amount, ref})
    await settleCredits(tx, queue, {org, ref, amount})
  })
const said = async (org: string): Promise<[number, number, number][]> => {
  const {rows} = await opened.hot.query(`select about from notices where org_id = $1 and kind = 'usage.credits' order by notice_no`, [org])
  return rows.map(({about}) => [about.percent, about.used, about.limit])
}

test('a usage mark is passed when usage crosses it', t => {
  const passed = (before: number, used: number, limit = 10) => markPassed({limit, before, used})
  t.deepEqual(
    [passed(0, 4), passed(4, 5), passed(5, 6), passed(5, 8), passed(8, 9), passed(9, 10), passed(10, 11)],
    [null, 50, null, 80, null, 100, null],
  )
  t.deepEqual(
    [passed(0, 10), passed(4, 9), passed(0, 99), passed(0, 0), passed(0, 0, 0), passed(0, 5, 0), passed(0, 1, 1)],
    [100, 80, 100, null, null, null, 100],
  )
  t.is(passed(1, 2, 3), 50)
})

test('each mark is reported once a period, measured by included credits and not by purchased ones', async t => {
  await setAhead(opened.db, 0)
  const org = await makeOrg(opened.db, {aiCredits: 10})
  await opened.db.transaction(tx => grantCredits(tx, {org, ref: 'bought', pool: 'purchased', credits: 100, expiresAt: null}))
  await spend(org, 'a', 4)
  t.deepEqual(await said(org), [])
  await spend(org, 'b', 1)
  await spend(org, 'c', 1)
  await opened.db.transaction(tx => grantCredits(tx, {org, ref: 'more', pool: 'included', credits: 10, expiresAt: null}))
  await spend(org, 'd', 6)
  t.deepEqual(await said(org), [[50, 5, 10]], 'half of more is half again, and is not said again')
  await spend(org, 'e', 50)
  await spend(org, 'f', 5)
  t.deepEqual(await said(org), [
    [50, 5, 10],
    [100, 20, 20],
  ])
  await setAhead(opened.db, 32 * 86_400)
  await spend(org, 'g', 8)
  t.deepEqual((await said(org)).slice(2), [[80, 8, 10]])
})
