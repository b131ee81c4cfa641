import type {CountSpan, Forecast} from '../../../shared/runs/forecast/forecast.ts'
import type {CrmPace} from '../../../sql/crm-paces.ts'
import type {CrmQuotaRow} from '../../../sql/crm-quota.ts'
import {addSpans, type CallPlan, type CallSpan, spanOf} from './call-plan.ts'
import {CONTROLS, WRITES} from './plan-calls.ts'

/** The assumed time in ms of a call whose kind was not measured yet at the connection. */
const usualPace = {p50Ms: 400, p95Ms: 1_200}
const dayMs = 86_400_000

/** `slots`: the maximum number of calls in flight. `quota`: null if the destination counts no credits. `rows`: the number of rows of all flows. */
type PriceInput = {
  plan: CallPlan
  paces: readonly CrmPace[]
  slots: number
  quota: CrmQuotaRow | null
  rows: number
  basis: Forecast['basis']
  now: number
  others: Forecast['routes']
  verifyAll: CountSpan
}

export const priceRun = ({others, verifyAll, ...input}: PriceInput): Forecast => {
  const {plan, quota, rows, basis, now} = input
  const {credits, seconds} = priceCalls(input)
  const {remaining = null, allowance = null, allowanceAtLeast = false} = quota ?? {}
  // The CRM reports what is left only once half the day's quota is used. What is left never exceeds the allowance, but bought credits add to it.
  const left = remaining ?? allowance
  const fits = left === null || credits.max <= left
  const isEnough = remaining === null && (fits || allowanceAtLeast) ? null : fits
  const pausesAtRow = !fits && rows > 0 ? Math.min(rows, Math.max(1, Math.floor((rows * left) / credits.max))) : null
  return {
    credits: {...credits, byKind: quota ? byKindOf(plan) : {}},
    verifyAll,
    seconds,
    finishesAt: finishOf({now, credits, seconds, quota: quota && {left, allowance}, isEnough}),
    pausesAtRow,
    quota: quota && {remaining, allowance, isEnough},
    basis,
    routes: [{match: 'query', write: 'records', credits, seconds, blockedBy: null}, ...others],
  }
}

export const priceCalls = ({plan, paces, slots, quota}: Pick<PriceInput, 'plan' | 'paces' | 'slots' | 'quota'>) => ({
  credits: quota ? sumSpans([...plan].flatMap(([kind, {credits}]) => (countsAlone(kind) ? credits : []))) : spanOf(0),
  seconds: secondsOf(plan, paces, slots),
})

/**
 * Whether a kind counts in sums. Creates and updates count together as `WRITES`, because each row is only one of both. Queries include those of
 * `CONTROLS`.
 */
const countsAlone = (kind: string) => kind !== 'create' && kind !== 'update' && kind !== CONTROLS

const sumSpans = (spans: CountSpan[]) => spans.reduce(addSpans, spanOf(0))

const byKindOf = (plan: CallPlan) =>
  Object.fromEntries([...plan].flatMap(([kind, {credits}]) => (kind === WRITES || kind === CONTROLS ? [] : [[kind, credits]])))

const secondsOf = (plan: CallPlan, paces: readonly CrmPace[], slots: number): Forecast['seconds'] => {
  const paceOf = (kind: string) => slowest(paces.filter(({operation}) => (kind === WRITES ? !countsAlone(operation) : operation === kind)))
  const planned = [...plan].filter(([kind, {calls}]) => countsAlone(kind) && calls.max > 0)
  const sum = (timeOf: (kind: string, calls: CallSpan) => number) =>
    planned.reduce((total, [kind, calls]) => total + timeOf(kind, calls), 0)
  // Even a run of few calls makes at least one call of each kind, one after another.
  const p50 = Math.max(
    sum((kind, {calls}) => (((calls.min + calls.max) / 2) * paceOf(kind).p50Ms) / slots),
    sum(kind => paceOf(kind).p50Ms),
  )
  const p95 = Math.max(
    p50,
    sum((kind, {calls}) => (calls.max * paceOf(kind).p95Ms) / slots),
    sum(kind => paceOf(kind).p95Ms),
  )
  return {p50: roundTenths(p50), p95: roundTenths(p95)}
}

const slowest = (paces: CrmPace[]): typeof usualPace => paces.toSorted((one, other) => other.p50Ms - one.p50Ms)[0] ?? usualPace

const roundTenths = (ms: number) => Math.round(ms / 100) / 10

type KnownQuota = {left: number | null; allowance: number | null}
type FinishInput = {now: number; credits: CountSpan; seconds: Forecast['seconds']; quota: KnownQuota | null; isEnough: boolean | null}

/**
 * Returns when the run ends; null if the quota is unknown. Each credit returns a day after its use, so a run that exhausts the quota waits one
 * day for each further allowance that it needs.
 */
const finishOf = ({now, credits, seconds, quota, isEnough}: FinishInput): string | null => {
  const days = isEnough === false ? daysOf(credits.max - quota!.left!, quota!.allowance) : 0
  if (days === null || (quota && isEnough === null)) return null
  return new Date(now + seconds.p50 * 1_000 + days * dayMs).toISOString()
}

const daysOf = (missing: number, allowance: number | null) => (allowance ? Math.ceil(missing / allowance) : null)
