import test from 'ava'
import {switchOverage} from '../../../shared/billing/overage-switch.ts'
import {openBilling} from '../../support/billing.ts'
import {openOverage} from '../../support/overage.ts'

test('rows beyond the plan are billed once, in whatever order a run without overage and a later run with overage end', async t => {
  const billing = await openBilling(t, {workers: [], webhook: false})
  for (const [first, written, billed] of [
    ['with overage', 8, 3],
    ['without overage', 8, 3],
    ['with overage', 4, 0],
  ] as const) {
    const org = await openOverage(billing)
    const enable = (enabled: boolean) => switchOverage(billing.house.tools, {org: org.org, via: 'session'}, {enabled})
    await enable(false)
    const earlier = await org.begin(8)
    await t.throwsAsync(org.begin(5), {message: /2 of the 10/})
    await enable(true)
    const later = await org.begin(5)
    const ends = [() => org.end(later, 5), () => org.end(earlier, written)]
    for (const end of first === 'with overage' ? ends : ends.toReversed()) await end()
    const reported = async () => (await org.reports()).reduce((sum, {rows}) => sum + rows, 0)
    t.is(await reported(), billed, `${first} first, ${written} rows`)
    await org.write(4)
    t.is(await reported(), 5 + written + 4 - 10)
  }
})
