import {type Pause, pause as usualPause} from '../../pause.ts'

/**
 * A change that the payment provider accepted and whose event reaches Lading some seconds later. `scheduled`: a change at the end of the period.
 * `withdrawn`: a scheduled change was withdrawn. `pack`: bought AI credits; `purchased` is the purchased balance before.
 */
export type AwaitedChange =
  | {kind: 'plan'; planKey: string; interval: string}
  | {kind: 'scheduled'; planKey: string}
  | {kind: 'withdrawn'}
  | {kind: 'pack'; purchased: number}

type PlanSummary = {
  plan: {key: string; name: string}
  interval: string | null
  subscription: {status?: string; plan?: {key: string} | null} | null
  pendingChange: {planKey: string} | null
  cancelsAt: string | null
  balance: {purchased: number}
}

/**
 * Returns the key of the subscription's plan, or else of the org's plan. They differ if the org bought a plan that starts after its trial. An
 * `incomplete` subscription does not count, because its first payment is missing.
 */
export const paidPlanOf = ({plan, subscription}: Pick<PlanSummary, 'plan' | 'subscription'>): string =>
  (subscription?.status !== 'incomplete' && subscription?.plan?.key) || plan.key

/**
 * Whether the billing summary shows the change. A change of kind `plan` also needs a subscription, because an org on trial has the plan unpaid.
 */
export const isApplied = (summary: PlanSummary, awaited: AwaitedChange): boolean => {
  const {interval, subscription, pendingChange, cancelsAt, balance} = summary
  const isUnscheduled = pendingChange === null && cancelsAt === null
  if (awaited.kind === 'plan')
    return subscription !== null && paidPlanOf(summary) === awaited.planKey && interval === awaited.interval && isUnscheduled
  if (awaited.kind === 'pack') return balance.purchased > awaited.purchased
  if (awaited.kind === 'withdrawn') return isUnscheduled
  return pendingChange?.planKey === awaited.planKey || (awaited.planKey === 'free' && cancelsAt !== null)
}

/** Returns the query parameters of the URL to which the payment provider sends a person after a payment. */
export const queryOf = (awaited: Extract<AwaitedChange, {kind: 'plan' | 'pack'}>): Record<string, string> =>
  awaited.kind === 'plan'
    ? {paid: 'plan', plan: awaited.planKey, interval: awaited.interval}
    : {paid: 'pack', purchased: String(awaited.purchased)}

/** Reads the paid change from the query parameters of the URL. Null if nothing was paid. */
export const readAwaited = (query: URLSearchParams): AwaitedChange | null => {
  const [planKey, interval] = [query.get('plan'), query.get('interval')]
  if (query.get('paid') === 'plan' && planKey && interval) return {kind: 'plan', planKey, interval}
  return query.get('paid') === 'pack' ? {kind: 'pack', purchased: Number(query.get('purchased') ?? 0)} : null
}

const everyMs = 1_500
const mostTries = 40

type AwaitInput = {read: () => Promise<PlanSummary>; signal?: AbortSignal; pause?: Pause}

/** Polls the billing summary until it shows the change. Returns false if that takes longer than a minute. */
export const awaitChange = async (awaited: AwaitedChange, {read, signal, pause = usualPause}: AwaitInput): Promise<boolean> => {
  for (let tries = 1; ; tries++) {
    // A failed request costs one try, like a summary without the change.
    const summary = await read().catch(() => null)
    if (summary && isApplied(summary, awaited)) return true
    if (tries >= mostTries) return false
    await pause(everyMs, signal)
  }
}
