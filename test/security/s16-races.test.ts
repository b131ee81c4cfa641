import test from 'ava'
import {openBilling, settleMoney} from '../support/billing.ts'
import {openPayer} from '../support/plan-changing.ts'

/** Other races of fifty requests are in `api/invitation-races`, `workers/record-claims-races` and `shared/billing/credits/ledger`. */
test('of fifty concurrent plan changes one is charged, and the others change nothing', async t => {
  t.timeout(300_000)
  const billing = await openBilling(t, {workers: [], webhook: false})
  const payer = await openPayer(billing, {planKey: 'business'})
  const answers = await Promise.all(Array.from({length: 50}, () => payer.ask({planKey: 'enterprise'})))
  const [done, others] = [answers.filter(({status}) => status === 200), answers.filter(({status}) => status !== 200)]
  t.is(done.length, 1)
  for (const {status, body, text} of others) t.true(status === 409 && ['CHANGE_IN_PROGRESS', 'NO_CHANGE'].includes(body.code), text)
  t.is(payer.charged(), 9000 + done[0]!.body.due.amount)
  t.is((await payer.changes()).length, 1)
  t.false(await payer.isHeld())
  await settleMoney(t, billing)
})
