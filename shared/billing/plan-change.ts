import type {Pool} from '../../sql/database.ts'
import {type ChangeTarget, insertPlanChange, type NewPlanChange, type PlanChange} from '../../sql/plan-changes.ts'
import {Refusal} from '../errors.ts'
import {atPoint} from '../fault-point.ts'
import {newId} from '../ids.ts'
import type {Queue} from '../queue.ts'
import type {ChangeKind} from './classify.ts'
import {assertHeld, type BillingLease, changeInProgress, holdWithRetry, LeaseGone, releaseBilling} from './lease.ts'
import {refusalOf, refuseFailure} from './payment-failure.ts'
import {describeChange, describePending, isPending, latestInvoiceOf, type PlanChangeAnswer} from './plan-change-answer.ts'
import {waitsForConfirmation} from './plan-change-calls.ts'
import {confirmationOf, settleConfirming} from './plan-change-confirm.ts'
import {executeChange, firstCall, type PlanChangeOutcome, type PlanChangeDeps as Running, wantsConfirmation} from './plan-change-run.ts'
import {settleUnsettled, supersede, unconfirmed} from './plan-change-settle.ts'
import {readTerms, type Terms} from './plan-change-terms.ts'
import {
  assertMayBuy,
  assertPlanRequestable,
  findRequestedPlan,
  kindOf,
  presentPlanTarget,
  type RequestedPlan,
  refusePayment,
} from './plan-change-wanted.ts'
import {planEndOf} from './plan-end.ts'
import {assertAsShown, readSecond, withinPeriod} from './preview.ts'
import {readPreview, type ShownPreview} from './preview-token.ts'
import type {Interval} from './subscription.ts'

type ChangePlanDeps = Running & {queue: Queue}
type CancelPendingInput = Pick<NewPlanChange, 'org' | 'person' | 'token'>
type ChangePlanInput = {org: string; person: string; planKey: string; interval: Interval; previewToken?: string | undefined}

/**
 * Moves the org to another plan, or cancels its pending change. If the change costs anything, the payment succeeds before this returns; if
 * the payment fails, nothing changes. Our own rows follow with the provider's events.
 */
export const changePlan = (deps: ChangePlanDeps, asking: ChangePlanInput): Promise<PlanChangeAnswer> =>
  requestChange(deps, asking).catch(refuseFailure(deps.log, 'plan change failed'))

const requestChange = async (
  deps: ChangePlanDeps,
  {org, person, planKey, interval, previewToken}: ChangePlanInput,
): Promise<PlanChangeAnswer> => {
  const {config, db} = deps
  await assertMayBuy(deps, org)
  const requested = {planKey, interval}
  await assertPlanRequestable(db, org, requested)
  const shown =
    previewToken === undefined ? null : await readPreview(config.SESSION_KEYS, previewToken, {org, person}, await readSecond(db))
  return onceSettled(deps, org, async (billingLease, earlier) => {
    if (earlier && isSame(earlier.change, requested, shown) && !isGone(earlier)) return answerOf(deps, earlier)
    const replaced = await endConfirming(deps, billingLease, earlier)
    return change(deps, billingLease, {org, person, requested, shown, earlier: replaced})
  })
}

/** Cancels the pending change. Does nothing if there is none. */
export const cancelPending = (deps: ChangePlanDeps, asking: CancelPendingInput): Promise<PlanChangeAnswer> =>
  cancelChange(deps, asking).catch(refuseFailure(deps.log, 'cancelling a pending plan change failed'))

const cancelChange = async (deps: ChangePlanDeps, {org, person, token}: CancelPendingInput): Promise<PlanChangeAnswer> => {
  await assertMayBuy(deps, org)
  return onceSettled(deps, org, async (billingLease, earlier) => {
    const replaced = await endConfirming(deps, billingLease, earlier)
    const terms = await readTerms(deps, org)
    const target = presentPlanTarget(terms)
    const second = withinPeriod(terms, await readSecond(deps.db))
    const made = await makeChange(deps, billingLease, {org, person, token, kind: 'take_back', target, terms, second, earlier: replaced})
    return answerOf(deps, made, terms)
  })
}

/**
 * Returns whether the earlier change had no effect, or was only partly applied without a failure. The requested change then starts again,
 * with the present card.
 */
const isGone = ({state, failure}: PlanChangeOutcome) =>
  ['declined', 'refused', 'superseded'].includes(state) || (state === 'partial' && failure === null)

/**
 * Returns whether an earlier change is the requested one: same plan and same interval. If the earlier change and the preview are immediate, both
 * prices must also be computed for the same second.
 */
const isSame = ({target, kind, params}: PlanChange, {planKey, interval}: RequestedPlan, shown: ShownPreview | null) =>
  target.planKey === planKey &&
  (planKey === 'free' || target.interval === interval) &&
  (kind !== 'now' || shown?.kind !== 'now' || shown.at === params.prorationDate)

/**
 * Takes the billing lock, settles an unfinished change, and runs `work`. The settled change may wait for a confirmed payment; `work` must end such a
 * change before another one begins. Throws CHANGE_UNCONFIRMED if the unfinished change cannot be settled.
 */
const onceSettled = async <T>(
  deps: ChangePlanDeps,
  org: string,
  work: (billingLease: BillingLease, earlier: PlanChangeOutcome | null) => Promise<T>,
): Promise<T> => {
  const billingLease = await holdWithRetry(deps.db, org)
  try {
    const earlier = await settleUnsettled(deps, billingLease)
    if (earlier?.state === 'unknown') throw unconfirmed()
    const done = await work(billingLease, earlier)
    atPoint('before_billing_release')
    return done
  } catch (error) {
    throw error instanceof LeaseGone ? changeInProgress() : error
  } finally {
    await releaseBilling(deps, billingLease)
  }
}

/**
 * Ends the change that waits for a confirmed payment. Returns the change that the next one replaces: this change if it was paid but only partly
 * applied, or else `earlier`. Throws CHANGE_UNCONFIRMED if the outcome is unknown.
 */
const endConfirming = async (deps: ChangePlanDeps, billingLease: BillingLease, earlier: PlanChangeOutcome | null) => {
  const confirmed = await settleConfirming(deps, billingLease, {givesUp: true})
  if (confirmed?.state === 'unknown') throw unconfirmed()
  return confirmed?.state === 'partial' ? confirmed : earlier
}

type RequestedChange = {
  org: string
  person: string
  requested: RequestedPlan
  shown: ShownPreview | null
  earlier: PlanChangeOutcome | null
}

const change = async (
  deps: ChangePlanDeps,
  billingLease: BillingLease,
  {org, person, requested, shown, earlier}: RequestedChange,
): Promise<PlanChangeAnswer> => {
  const terms = await readTerms(deps, org)
  const {target, wanted} = await findRequestedPlan(deps.db, terms, requested)
  const kind = await kindOf(deps.db, org, terms, {target, wanted})
  if (shown) await assertAsShown(deps, shown, {kind, target, terms})
  const second = shown?.at ?? withinPeriod(terms, await readSecond(deps.db))
  const made = await makeChange(deps, billingLease, {org, person, token: null, kind, target, terms, second, earlier})
  if (made.state === 'accepted') {
    if (shown) noteDifference(deps, made, shown)
    if (kind === 'cancel') noteOtherEnd(deps, made, planEndOf(terms.read))
  }
  return answerOf(deps, made, terms)
}

type MakeChangeInput = CancelPendingInput & {
  kind: ChangeKind
  target: ChangeTarget
  terms: Terms
  second: number
  earlier: PlanChangeOutcome | null
}

/** Stores the change with its first call, then executes it. A change that needs no call is not stored. */
const makeChange = async (
  deps: ChangePlanDeps,
  billingLease: BillingLease,
  {kind, terms, second, earlier, ...asked}: MakeChangeInput,
): Promise<PlanChangeOutcome> => {
  const made = {id: newId('pch'), kind, ...asked}
  const bare = {subscription: terms.found.id, prorationDate: second, invoice: latestInvoiceOf(terms), calls: []}
  const first = firstCall(deps, {...made, params: bare}, terms)
  // The earlier change is partly in effect. The new change was computed from that state and replaces it.
  if (earlier?.state === 'partial') await supersede(deps, billingLease, earlier.change)
  // A pending update that is not ours also waits for the customer.
  const state = waitsForConfirmation(made, terms) ? 'confirming' : 'accepted'
  if (first === null) return {change: {...made, params: bare, ...settled}, state, terms, failure: null}
  const row = await deps.db.transaction(async tx => {
    await assertHeld(tx, billingLease)
    return insertPlanChange(tx, {...made, params: {...bare, calls: [first]}})
  })
  return executeChange(deps, billingLease, row, terms, true)
}

const settled: Pick<PlanChange, 'state' | 'isYoung' | 'settledAt'> = {state: 'accepted', isYoung: true, settledAt: null}

/**
 * Logs a charge that differs from the preview. The provider's amount is valid, because a coupon or credit may have changed the price
 * meanwhile.
 */
const noteDifference = ({log}: ChangePlanDeps, {change: made, terms}: PlanChangeOutcome, {due}: ShownPreview) => {
  const charged = terms && describeChange(made, terms, null).due.amount
  if (charged !== due) log.error({change: made.id, shown: due, charged}, 'a plan change was charged differently than shown')
}

/** Logs a cancellation whose date differs from the expected end of the plan. Both dates come from the same read, so they should be equal. */
const noteOtherEnd = ({log}: ChangePlanDeps, {change: made, terms}: PlanChangeOutcome, expected: string | null) => {
  if (!terms) return
  const endsAt = terms.read.cancelsAt
  if (endsAt !== expected) log.error({change: made.id, expected, endsAt}, 'a cancellation ends the plan on another date than shown')
}

/** Returns the answer to the caller, or throws the refusal. `before`: the terms before the change, with the change that was pending then. */
const answerOf = async (
  deps: ChangePlanDeps,
  {change: made, state, terms, failure}: PlanChangeOutcome,
  before: Terms | null = null,
): Promise<PlanChangeAnswer> => {
  const waited = before?.read.pending ?? null
  if (state === 'accepted' && terms) return describeChange(made, terms, isPending(waited, made.target) ? null : waited)
  if (state === 'confirming') throw await confirmFirst(deps.db, made.org, terms!)
  if (state === 'declined') throw await declined(deps.db, made.org, wantsConfirmation({state, failure}))
  if (state === 'partial') throw incomplete(terms)
  if (failure) throw refusalOf(deps.log, failure, 'plan change failed')
  throw new Refusal('NOT_SUBSCRIBED', 'The plan of this org ended meanwhile. Buy one by POST /orgs/{org}/billing/checkout')
}

/** Builds the refusal with the provider's page for the confirmation. Before the customer confirms, nothing is charged or changed. */
const confirmFirst = (db: Pool, org: string, terms: Terms) => {
  const confirmation = confirmationOf(terms)
  if (confirmation === null) return declined(db, org, true)
  const says = `Your bank requires you to confirm this payment. Nothing is charged or changed before that. Confirm it at ${confirmation.url}`
  return refusePayment(db, org, 'CARD_DECLINED', says, {confirmation})
}

const declined = (db: Pool, org: string, wantsConfirming: boolean) =>
  refusePayment(
    db,
    org,
    'CARD_DECLINED',
    wantsConfirming
      ? 'The bank requires a confirmation of this payment, so nothing was charged or changed. Use another card by POST /billing/portal'
      : 'The card was declined, so nothing was charged or changed. Change the card by POST /billing/portal, and try again',
  )

const incomplete = (terms: Terms | null) =>
  new Refusal(
    'CHANGE_INCOMPLETE',
    'The plan change was only partly applied. Send the same request again to finish it, or cancel the pending change by DELETE /orgs/{org}/billing/plan/pending',
    {stands: terms && describePending(terms)},
  )
