import anyTest, {type TestFn} from 'ava'
import fc from 'fast-check'
import {keepTopup} from '../../../shared/billing/topup-settings.ts'
import {Refusal} from '../../../shared/errors.ts'
import {type Billing, openBilling, pass, settleMoney} from '../../support/billing.ts'
import {openTopping, type Topping} from '../../support/topups.ts'

const test = anyTest.serial as TestFn
let billing: Billing
test.before(async t => {
  billing = await openBilling(t, {workers: [], webhook: false})
})

const shouldRetry = false
const operation = fc.oneof(
  {weight: 4, arbitrary: fc.record({kind: fc.constant('spend' as const), amount: fc.integer({min: 1, max: 700})})},
  {weight: 4, arbitrary: fc.record({kind: fc.constant('settle' as const), times: fc.integer({min: 1, max: 2})})},
  {weight: 1, arbitrary: fc.record({kind: fc.constant('start' as const)})},
  {
    weight: 1,
    arbitrary: fc.record({kind: fc.constant('enable' as const), enabled: fc.boolean(), threshold: fc.constantFrom(20, 600, 3000)}),
  },
  {
    weight: 1,
    arbitrary: fc.record({kind: fc.constant('card' as const), says: fc.constantFrom('ok', 'card_declined', 'authentication_required')}),
  },
  {weight: 1, arbitrary: fc.record({kind: fc.constant('pass' as const), days: fc.constantFrom(0.5, 1.1, 17)})},
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('fault' as const),
      method: fc.constantFrom('POST', 'GET'),
      action: fc.constantFrom(
        {type: 'status', status: 500, when: 'after', shouldRetry} as const,
        {type: 'status', status: 500, when: 'before', shouldRetry} as const,
        {type: 'status', status: 500, when: 'before', saved: true, shouldRetry} as const,
        {type: 'status', status: 502, when: 'after', body: 'bare', shouldRetry} as const,
        {type: 'rateLimit'} as const,
        {type: 'half'} as const,
      ),
    }),
  },
)
type Operation = typeof operation extends fc.Arbitrary<infer O> ? O : never

const perform = async (org: Topping, op: Operation) => {
  const {payment, house} = billing
  const unlessRefused = (error: unknown) => {
    if (!(error instanceof Refusal)) throw error
  }
  if (op.kind === 'spend') await org.spend(op.amount).catch(unlessRefused)
  else if (op.kind === 'settle') await Promise.all(Array.from({length: op.times}, () => org.settle()))
  else if (op.kind === 'start') await org.start()
  else if (op.kind === 'card') payment.setCard(org.card, op.says as 'ok')
  else if (op.kind === 'pass') await pass(billing, op.days)
  else if (op.kind === 'fault') payment.faults.add({method: op.method, path: '/v1/payment_intents**', action: op.action})
  else await keepTopup(house.tools, {org: org.org, via: 'session'}, {enabled: op.enabled, threshold: op.threshold}).catch(unlessRefused)
}

const cap = 1000

test('charges stay within the monthly cap, and credits equal payments', async t => {
  await fc.assert(
    fc.asyncProperty(fc.array(operation, {minLength: 10, maxLength: 30}), async sequence => {
      const org = await openTopping(billing, {threshold: 600, monthlyCap: cap})
      for (const op of sequence) {
        await perform(org, op)
        await assertWithin(org)
      }
      billing.payment.faults.clear()
      await pass(billing, 1.1)
      await org.settle()
      const open = (await org.attempts()).filter(({state}) => state === 'unknown')
      if (open.length > 0) throw new Error('One has no end')
      await assertWithin(org)
      if (org.intents().some(({status}) => status !== 'succeeded' && status !== 'canceled')) throw new Error('One may still be paid')
      await settleMoney(t, billing)
    }),
    {numRuns: 6},
  )
  t.pass()
})

const assertWithin = async (org: Topping) => {
  const attempts = await org.attempts()
  const paid = org.intents().filter(({status}) => status === 'succeeded')
  const sums: Record<string, number> = {}
  for (const {metadata, created} of paid) {
    const month = new Date(created * 1000).toISOString().slice(0, 7)
    const {credits} = attempts.find(({id}) => id === metadata.attempt_id)!
    sums[month] = (sums[month] ?? 0) + credits
  }
  if (Object.values(sums).some(sum => sum > cap)) throw new Error(`More than the cap: ${JSON.stringify(sums)}`)
  const given = attempts.filter(({state}) => state === 'succeeded').reduce((sum, {credits}) => sum + credits, 0)
  const charged = paid.reduce((sum, {amount}) => sum + amount / 2, 0)
  if (given > charged) throw new Error(`${given} credits were given and ${charged} paid for`)
}
