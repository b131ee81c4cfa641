import type {Pool, Tx} from '../../sql/database.ts'
import {isOpenOrg} from '../../sql/orgs.ts'
import {findChangeUnderWay, findUnsettledChange, listAcceptedChanges, type PlanChange, setChangeState} from '../../sql/plan-changes.ts'
import {findSubscription, type Subscription} from '../../sql/subscriptions.ts'
import type {Author} from '../configuration/change.ts'
import {Refusal} from '../errors.ts'
import {assertHeld, type BillingLease, changeInProgress} from './lease.ts'
import {failureIn, PaymentFailure} from './payment-failure.ts'
import {isPending} from './plan-change-answer.ts'
import {settleConfirming} from './plan-change-confirm.ts'
import {executeChange, type PlanChangeDeps, type PlanChangeOutcome} from './plan-change-run.ts'
import {readTermsOf} from './plan-change-terms.ts'
import {isOver} from './subscription.ts'

/**
 * Completes the org's unfinished change, and checks whether accepted changes show in our rows. A change that cannot be settled yet stays unchanged
 * for the next call. The unfinished change of a closed org also stays unchanged, because `billing.end` supersedes it.
 */
export const settleChanges = async (deps: PlanChangeDeps, billingLease: BillingLease): Promise<void> => {
  if (await isOpenOrg(deps.db, billingLease.org)) await settleUnsettled(deps, billingLease)
  await settleConfirming(deps, billingLease, {givesUp: false})
  await settleLandedChanges(deps.db, billingLease)
}

/** Throws if a change of the org is in progress or its outcome is unknown, because a preview of another change would then be wrong. */
export const assertNoneOpen = async (db: Pool, org: string): Promise<void> => {
  const state = (await findUnsettledChange(db, org))?.state
  if (state === 'unknown') throw unconfirmed()
  if (state === 'started') throw changeInProgress()
}

export const unconfirmed = () =>
  new Refusal('CHANGE_UNCONFIRMED', 'It is not known yet whether the last change of this plan succeeded. Try again in a few minutes', {
    retryAfterMs: 60_000,
  })

export const settleUnsettled = async (deps: PlanChangeDeps, billingLease: BillingLease): Promise<PlanChangeOutcome | null> => {
  const change = await findUnsettledChange(deps.db, billingLease.org)
  if (!change) return null
  const terms = await readTermsOf(deps, change.params.subscription).catch(failureIn)
  if (!(terms instanceof PaymentFailure)) return executeChange(deps, billingLease, change, terms)
  deps.log.warn({err: terms, change: change.id}, 'could not read the outcome of a plan change')
  return {change, state: 'unknown', terms: null, failure: terms}
}

/** Marks an unsettled change as superseded, so that its stored calls are never sent again. */
export const supersede = ({db}: Pick<PlanChangeDeps, 'db'>, billingLease: BillingLease, {org, id}: PlanChange): Promise<void> =>
  db.transaction(async tx => {
    await assertHeld(tx, billingLease)
    await setChangeState(tx, {org, id, state: 'superseded'})
  })

/**
 * Marks older accepted changes as superseded. The newest one waits until the subscription was read after the change. If that read shows the change,
 * marks the change as landed, or else as superseded.
 */
const settleLandedChanges = (db: Pool, billingLease: BillingLease): Promise<void> =>
  db.transaction(async tx => {
    await assertHeld(tx, billingLease)
    const row = await findSubscription(tx, billingLease.org)
    const [newest, ...older] = await listAcceptedChanges(tx, billingLease.org)
    for (const {id, org} of older) await setChangeState(tx, {org, id, state: 'superseded'})
    if (!newest || !row || row.readAt <= newest.settledAt!) return
    await setChangeState(tx, {org: newest.org, id: newest.id, state: shows(row, newest) ? 'landed' : 'superseded'})
  })

type ShownSubscription = Pick<Subscription, 'id' | 'status' | 'planVersionId' | 'interval' | 'pending' | 'cancelsAt'>

const shows = (row: ShownSubscription, {kind, target, params}: PlanChange): boolean => {
  if (row.id !== params.subscription) return false
  const isOn = row.planVersionId === target.planVersionId && row.interval === target.interval
  if (kind === 'cancel') return row.cancelsAt !== null || isOver(row)
  if (kind === 'take_back') return row.pending === null
  return kind === 'now' ? isOn : isOn || isPending(row.pending, target)
}

/**
 * Returns the person or the API token whose plan change caused the subscription's present state, while that change is in progress. Returns null if
 * the state has another cause. Also returns null once our tables show the change: its later effects come from the provider's subscription schedule.
 */
export const findChangeAuthor = async (tx: Tx, {org, read}: {org: string; read: ShownSubscription}): Promise<Author | null> => {
  const change = await findChangeUnderWay(tx, org)
  if (!change || !shows(read, change)) return null
  const {person, token} = change
  return token ? {org, via: 'token', token} : person ? {org, via: 'session', person} : null
}
