import test from 'ava'
import {openBilling} from '../support/billing.ts'
import {newBuyer} from '../support/checkouts.ts'

/** PAYMENT_PROMOTION_CODES decides whether customers may enter promotion codes, for plans and packs alike. */
for (const [flag, allowed] of [
  ['1', true],
  ['', null],
] as const)
  test(`with PAYMENT_PROMOTION_CODES=${flag} pages ${allowed ? 'take' : 'do not take'} promotion codes`, async t => {
    const billing = await openBilling(t, {workers: [], webhook: false, environment: {PAYMENT_PROMOTION_CODES: flag}})
    const {openPlan, openPack} = await newBuyer(billing)
    for (const id of [await openPlan(), await openPack()]) t.is(billing.payment.find(id)!.allow_promotion_codes, allowed)
  })
