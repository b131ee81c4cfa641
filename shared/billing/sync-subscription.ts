import type {Tx} from '../../sql/database.ts'
import {findNewestPlan, findPlanVersion, lockOrgPlan, type PlanVersion, type Status} from '../../sql/plans.ts'
import {findSubscription, keepSubscription, type Subscription, setSubscriptionEnded} from '../../sql/subscriptions.ts'
import {type Author, recordChanges} from '../configuration/change.ts'
import {announce} from '../notifications/announce.ts'
import {movePlan, recordPlan} from './entitlements/plan.ts'
import {readPlanStatus, TRIAL} from './entitlements/plan-status.ts'
import {windowAt} from './entitlements/window.ts'
import {assertHeld, type BillingLease} from './lease.ts'
import {isOver, type ReadSubscription} from './subscription.ts'

/**
 * Stores a subscription as read from the provider, and updates the org's plan. Only this function stores subscriptions; the last read wins,
 * in whatever order events arrive. `read`: null if the provider no longer knows the subscription. An unchanged value adds nothing to the
 * settings history. Throws LeaseGone if the billing lock was lost.
 */
export const syncSubscription = async (
  tx: Tx,
  billingLease: BillingLease,
  read: ReadSubscription | null,
  author: Author,
): Promise<void> => {
  await assertHeld(tx, billingLease)
  const {org} = billingLease
  const known = await findSubscription(tx, org)
  if (known === null && read === null) return
  // A late event of an ended subscription says nothing about the newer subscription.
  if (known && read && known.id !== read.id && isOver(read) && !isOver(known)) return
  const was = known?.id === (read?.id ?? known?.id) ? known : null
  // If the price is unknown, the org keeps the plan version that the subscription had.
  if (read) await keepSubscription(tx, {org, ...subscriptionOf(read), planVersionId: read.planVersionId ?? was?.planVersionId ?? null})
  else await setSubscriptionEnded(tx, org)
  const cause: Author = hasTakenEffect(was, read) ? {org, via: 'schedule'} : author
  await recordPending(tx, cause, was, read)
  await moveOrg(tx, {org, was, read, author: cause})
}

/**
 * Returns whether the schedule has applied the pending plan change. A phase of our own sets the metadata. A phase that staff made is
 * recognised by a period that begins at the pending date or later. Returns false if staff changed the price before the pending date.
 */
const hasTakenEffect = (was: Subscription | null, read: ReadSubscription | null): boolean => {
  const pending = was?.pending
  if (!pending || !read || pending.planVersionId === null) return false
  const {metadata, periodStartsAt} = read
  const isOn = read.planVersionId === pending.planVersionId && read.interval === pending.interval
  const isOfPhase = metadata.plan_version_id === pending.planVersionId && metadata.interval === pending.interval
  return isOn && (isOfPhase || (periodStartsAt !== null && periodStartsAt >= pending.at))
}

const subscriptionOf = ({
  customer: _customer,
  itemId: _item,
  schedule: _schedule,
  endsEarly: _early,
  metadata: _metadata,
  ...read
}: ReadSubscription) => read

const recordPending = async (tx: Tx, author: Author, was: Subscription | null, read: ReadSubscription | null) => {
  const [before, after] = [was?.pending ?? null, read?.pending ?? null]
  const isSame = before?.planKey === after?.planKey && before?.interval === after?.interval && before?.at === after?.at
  if (isSame || (read && isOver(read)) || !read) return
  await recordChanges(tx, author, [{page: 'plan', subject: 'plan.pending', before, after}])
}

type MoveOrgInput = {org: string; was: Subscription | null; read: ReadSubscription | null; author: Author}
type OrgPlanPlace = {to: PlanVersion; status: Status; anchor: string | null}

const moveOrg = async (tx: Tx, {org, was, read, author}: MoveOrgInput) => {
  const now = await lockOrgPlan(tx, org)
  if (!now) return
  const place = read && !isOver(read) ? await placeOf(tx, now, read) : await placeAfter(tx, now, was)
  if (place === null) return
  const isSame = place.to.id === now.planVersionId && place.status === now.status
  if (isSame && place.anchor === null) return
  const before = await readPlanStatus(tx, org)
  const isRenewed =
    was !== null && read !== null && was.periodStartsAt !== read.periodStartsAt && before.window.startsAt === read.periodStartsAt
  const after = await movePlan(tx, {org, ...place, isRenewed})
  if (isSame) return
  const hasMoved = before.plan.id !== after.plan.id
  await recordPlan(tx, author, hasMoved ? 'plan.changed' : 'plan.status', before, after)
  if (hasMoved) {
    const about = {from: before.plan.key, to: after.plan.key, status: after.status}
    await announce(tx, {org, kind: 'billing.plan_changed', schedule: null, about})
  }
}

type OrgPlan = NonNullable<Awaited<ReturnType<typeof lockOrgPlan>>>

/** Our plan status by the provider's status. A status without an entry changes nothing, such as `incomplete`: the first payment is missing. */
const STATUS: Record<string, Status> = {
  trialing: 'active',
  active: 'active',
  past_due: 'past_due',
  unpaid: 'suspended',
  paused: 'suspended',
}

/** Returns the plan, status and period start that a live subscription gives the org. Null if the org's plan stays. */
const placeOf = async (tx: Tx, now: OrgPlan, read: ReadSubscription): Promise<OrgPlanPlace | null> => {
  const status = STATUS[read.status]
  const to = read.planVersionId === null ? null : await findPlanVersion(tx, read.planVersionId)
  if (status === undefined || to === null || waitsForTrial(now, read)) return null
  return {to, status, anchor: anchorOf(now, read)}
}

/** Returns whether the plan was bought to follow the org's trial and has not begun. The provider's period begins when the trial ends. */
const waitsForTrial = ({trialEndsAt}: OrgPlan, {status, metadata}: ReadSubscription) =>
  status === 'trialing' && metadata.after_trial === 'true' && trialEndsAt !== null

/**
 * Returns the start of the provider's period as the new start of the org's periods, or null if the start stays. The start stays if one of the org's
 * periods begins at the same time, as after an upgrade in mid-period. The start also stays if the provider names no period.
 */
const anchorOf = ({anchor}: OrgPlan, {periodStartsAt}: ReadSubscription): string | null =>
  periodStartsAt === null || windowAt(anchor, periodStartsAt).startsAt === periodStartsAt ? null : periodStartsAt

/** Returns the org's plan after a subscription ended, or null if the present plan stays. A current trial and a plan given by staff stay. */
const placeAfter = async (tx: Tx, now: OrgPlan, was: Subscription | null): Promise<OrgPlanPlace | null> => {
  if (was === null || isOver(was) || was.status === 'incomplete' || now.status === 'trialing') return null
  if (now.planVersionId !== was.planVersionId && now.status === 'active') return null
  const plan = await findPlanVersion(tx, now.planVersionId)
  if (plan?.key === TRIAL) return null
  const to = await findNewestPlan(tx, 'free')
  return {to, status: 'active', anchor: (await readPlanStatus(tx, was.org)).now}
}
