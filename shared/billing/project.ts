import type {Tx} from '../../sql/database.ts'
import {findNewestPlan, findPlanVersion, lockOrgPlan, type Plan, type Status} from '../../sql/plans.ts'
import {findSubscription, keepSubscription, type Subscription, setSubscriptionEnded} from '../../sql/subscriptions.ts'
import {movePlan, recordPlan} from '../entitlements/plan.ts'
import {readStanding, TRIAL} from '../entitlements/standing.ts'
import {windowAt} from '../entitlements/window.ts'
import {announce} from '../notices/announce.ts'
import {type Author, recordChanges} from '../registry/change.ts'
import {assertHeld, type Held} from './lease.ts'
import {isOver, type ReadSubscription} from './subscription.ts'

/**
 * Writes what the provider says of the org's subscription into our rows, and what follows from it into the org's plan. The one place that does,
 * whoever has learnt it and why, so the newest reading wins whatever order events come in. `read` is null for a subscription the provider
 * knows no more. What has not changed is not written down again in the settings history. The hold is ours, or LeaseGone is thrown.
 */
export const projectSubscription = async (tx: Tx, held: Held, read: ReadSubscription | null, author: Author): Promise<void> => {
  await assertHeld(tx, held)
  const {org} = held
  const known = await findSubscription(tx, org)
  if (known === null && read === null) return
  // A late word about one that is over says nothing of the one that came after it.
  if (known && read && known.id !== read.id && isOver(read) && !isOver(known)) return
  const was = known?.id === (read?.id ?? known?.id) ? known : null
  // Under a price that says nothing to us it goes on as the plan it was.
  if (read) await keepSubscription(tx, {org, ...subscriptionOf(read), planVersionId: read.planVersionId ?? was?.planVersionId ?? null})
  else await setSubscriptionEnded(tx, org)
  const cause: Author = hasTakenEffect(was, read) ? {org, via: 'schedule'} : author
  await recordPending(tx, cause, was, read)
  await moveOrg(tx, {org, was, read, author: cause})
}

/**
 * Whether the plan that waited for the period's end is on now, moved by the schedule. A phase of ours brings its metadata along; one that staff made
 * is known by the period that has begun. A price that staff change ahead of time is neither.
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

type Known = {org: string; was: Subscription | null; read: ReadSubscription | null; author: Author}
type Place = {to: Plan; status: Status; anchor: string | null}

const moveOrg = async (tx: Tx, {org, was, read, author}: Known) => {
  const now = await lockOrgPlan(tx, org)
  if (!now) return
  const place = read && !isOver(read) ? await placeOf(tx, now, read) : await placeAfter(tx, now, was)
  if (place === null) return
  const isSame = place.to.id === now.planVersionId && place.status === now.status
  if (isSame && place.anchor === null) return
  const before = await readStanding(tx, org)
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

/** The provider's words for how a subscription stands, and ours; null for those by which nothing moves: the first payment has not come. */
const STATUS: Record<string, Status> = {
  ...{trialing: 'active', active: 'active', past_due: 'past_due', unpaid: 'suspended', paused: 'suspended'},
}

/** Where a living subscription puts the org; null where it stays as it is. */
const placeOf = async (tx: Tx, now: OrgPlan, read: ReadSubscription): Promise<Place | null> => {
  const status = STATUS[read.status]
  const to = read.planVersionId === null ? null : await findPlanVersion(tx, read.planVersionId)
  if (status === undefined || to === null || waitsForTrial(now, read)) return null
  return {to, status, anchor: anchorOf(now, read)}
}

/** Bought for the time after our own trial: the provider's begins to count when that is over. */
const waitsForTrial = ({trialEndsAt}: OrgPlan, {status, metadata}: ReadSubscription) =>
  status === 'trialing' && metadata.after_trial === 'true' && trialEndsAt !== null

/**
 * A period of ours begins with each of the provider's. Where one of ours does already, nothing has been begun anew: a higher plan bought in
 * the midst of it adds its part. A plan that begins, and another interval, count from the provider's period on.
 */
const anchorOf = ({anchor}: OrgPlan, {periodStartsAt}: ReadSubscription): string | null =>
  periodStartsAt === null || windowAt(anchor, periodStartsAt).startsAt === periodStartsAt ? null : periodStartsAt

/** A subscription that is over takes with it what it gave, and nothing that came from elsewhere: a trial under way, or a plan given by staff. */
const placeAfter = async (tx: Tx, now: OrgPlan, was: Subscription | null): Promise<Place | null> => {
  if (was === null || isOver(was) || was.status === 'incomplete' || now.status === 'trialing') return null
  if (now.planVersionId !== was.planVersionId && now.status === 'active') return null
  const plan = await findPlanVersion(tx, now.planVersionId)
  if (plan?.key === TRIAL) return null
  const to = await findNewestPlan(tx, 'free')
  return {to, status: 'active', anchor: (await readStanding(tx, was.org)).now}
}
