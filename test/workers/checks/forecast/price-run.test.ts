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

test('the quota is not enough for a cost above that of a day, even if the CRM has not yet reported what is left', t => {
  const priceReads = (count: number, allowanceAtLeast = false) => {
    const known = {...quota, remaining: null, allowanceAtLeast}
    return Forecast.parse(priceRun({...input, plan: new Map([['read', plainCalls(count)]]), quota: known, rows: 5_000}))
  }
  const forecast = priceReads(10_000)
  t.like(forecast, {pausesAtRow: 2_000, quota: {remaining: null, allowance: 4_000, isEnough: false}})
  t.is(Math.floor(Date.parse(forecast.finishesAt!) / 86_400_000), 2)
  t.like(priceReads(10_000, true), {pausesAtRow: 2_000, finishesAt: null, quota: {isEnough: null}}, 'bought credits may raise it')
  t.like(priceReads(4_000), {pausesAtRow: null, finishesAt: null, quota: {isEnough: null}})
})
