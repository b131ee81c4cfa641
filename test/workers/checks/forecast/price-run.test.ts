import test from 'ava'
import {Forecast} from '../../../../shared/runs/forecast/forecast.ts'
import {type CallPlan, plainCalls, spanOf} from '../../../../workers/checks/forecast/call-plan.ts'
import {priceRun} from '../../../../workers/checks/forecast/price-run.ts'

const quota = {remaining: 0, remainingAt: null, allowance: 4_000, allowanceAtLeast: false, edition: null, spent: true, spentAt: null}
const plan: CallPlan = new Map([['read', plainCalls(1)]])
type PriceInput = Omit<Parameters<typeof priceRun>[0], 'rows'>
const input: PriceInput = {plan, quota, paces: [], slots: 1, basis: 'file', now: 0, others: [], verifyAll: spanOf(0)}

test('a run without rows pauses at no row, although an exhausted quota does not suffice for its calls', t => {
  const forecast = Forecast.parse(priceRun({...input, rows: 0}))
  t.like(forecast, {credits: {max: 1}, pausesAtRow: null, quota: {isEnough: false}})
  t.is(Forecast.parse(priceRun({...input, rows: 5})).pausesAtRow, 1)
})
