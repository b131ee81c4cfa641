import type {Pool} from '../../sql/database.ts'
import {type ChangeTarget, insertPlanChange, type PlanChange, setChangeState} from '../../sql/plan-changes.ts'
import {Refusal} from '../errors.ts'
import {atPoint} from '../fault-point.ts'
import {newId} from '../ids.ts'
import type {Queue} from '../queue.ts'
import type {ChangeKind} from './classify.ts'
import {assertHeld, changeInProgress, type Held, holdPatiently, LeaseGone, releaseBilling} from './lease.ts'
import {refusalOf, refuseFailure} from './payment-failure.ts'
import {type Answer, describeChange, describeStanding, isPending, latestInvoiceOf} from './plan-change-answer.ts'
import {confirmationOf, settleConfirming} from './plan-change-confirm.ts'
import {firstCall, type Outcome, pursue, type Tools as Running, wantsConfirmation} from './plan-change-run.ts'
import {settleUnsettled, unconfirmed} from './plan-change-settle.ts'
import {readTerms, type Terms} from './plan-change-terms.ts'
import {assertMayBuy, findWanted, kindOf, refusePayment, type WantedPlan} from './plan-change-wanted.ts'
import {planEndOf} from './plan-end.ts'
import {assertAsShown, readSecond, withinPeriod} from './preview.ts'
import {readPreview, type Shown} from './preview-token.ts'
import type {Interval} from './subscription.ts'

type Tools = Running & {queue: Queue}
type Asking = {org: string; person: string; planKey: string; interval: Interval; previewToken?: string | undefined}

/**
 * Moves the org to another plan, or lets what waits go, as the subscription stands at this moment. What is charged is charged before this answers,
 * or nothing has changed; our own rows follow when the provider tells of it.
 */
export const changePlan = (tools: Tools, asking: Asking): Promise<Answer> =>
  askChange(tools, asking).catch(refuseFailure(tools.log, 'a plan was not changed'))

const askChange = async (tools: Tools, {org, person, planKey, interval, previewToken}: Asking): Promise<Answer> => {
  const {config, db} = tools
  await assertMayBuy(tools, org)
  const wanted = await findWanted(db, {planKey, interval})
  const shown =
    previewToken === undefined ? null : await readPreview(config.SESSION_KEYS, previewToken, {org, person}, await readSecond(db))
  return whileSettled(tools, org, async (held, earlier) => {
    if (earlier && isSame(earlier.change, wanted.target, shown) && !isGone(earlier)) return answerOf(tools, earlier)
    return change(tools, held, {org, person, wanted, shown, earlier})
  })
}

/** The subscription goes on as it is. Where nothing waits that is so already. */
export const takeBackPending = (tools: Tools, asking: Pick<Asking, 'org' | 'person'>): Promise<Answer> =>
  takeBack(tools, asking).catch(refuseFailure(tools.log, 'what waits was not taken back'))

const takeBack = async (tools: Tools, {org, person}: Pick<Asking, 'org' | 'person'>): Promise<Answer> => {
  await assertMayBuy(tools, org)
  return whileSettled(tools, org, async (held, earlier) => {
    const terms = await readTerms(tools, org)
    const {plan, read, item} = terms
    const target = {planKey: plan?.key ?? 'unknown', planVersionId: read.planVersionId, interval: read.interval, price: item.price.id}
    const second = withinPeriod(terms, await readSecond(tools.db))
    const made = await makeChange(tools, held, {org, person, kind: 'take_back', target, terms, second, earlier})
    return answerOf(tools, made, terms)
  })
}

/** Nothing of it stands, or somebody has undone what did: it is begun anew, with the card there is by now. */
const isGone = ({state, failure}: Outcome) =>
  ['declined', 'refused', 'superseded'].includes(state) || (state === 'partial' && failure === null)

/** Who was shown what a change costs agreed to that, and not to the one that was priced at another moment. */
const isSame = ({target, kind, params}: PlanChange, wanted: ChangeTarget, shown: Shown | null) =>
  target.planKey === wanted.planKey &&
  target.interval === wanted.interval &&
  (kind !== 'now' || shown?.kind !== 'now' || shown.at === params.prorationDate)

/** Holds the org's billing, brings what was begun before to its end, and works on. What cannot be settled is no ground to build on. */
const whileSettled = async <T>(tools: Tools, org: string, work: (held: Held, earlier: Outcome | null) => Promise<T>): Promise<T> => {
  const held = await holdPatiently(tools.db, org)
  try {
    const earlier = await settleUnsettled(tools, held)
    if (earlier?.state === 'unknown') throw unconfirmed()
    if (earlier?.state !== 'confirming') await settleConfirming(tools, held, {givesUp: true})
    const done = await work(held, earlier)
    atPoint('before_billing_release')
    return done
  } catch (error) {
    throw error instanceof LeaseGone ? changeInProgress() : error
  } finally {
    await releaseBilling(tools, held)
  }
}

type Work = {org: string; person: string; wanted: WantedPlan; shown: Shown | null; earlier: Outcome | null}

const change = async (tools: Tools, held: Held, {org, person, wanted, shown, earlier}: Work): Promise<Answer> => {
  const terms = await readTerms(tools, org)
  const kind = await kindOf(tools.db, org, terms, wanted)
  const {target} = wanted
  if (shown) await assertAsShown(tools, shown, {kind, target, terms})
  const second = shown?.at ?? withinPeriod(terms, await readSecond(tools.db))
  const made = await makeChange(tools, held, {org, person, kind, target, terms, second, earlier})
  if (made.state === 'accepted' && shown) noteDifference(tools, made, shown)
  if (kind === 'cancel') noteOtherEnd(tools, made, planEndOf(terms.read))
  return answerOf(tools, made, terms)
}

type Making = {org: string; person: string; kind: ChangeKind; target: ChangeTarget; terms: Terms; second: number; earlier: Outcome | null}

/** The row is written with its first call before anybody is called. Where all stands as wanted already, there is neither. */
const makeChange = async (tools: Tools, held: Held, {kind, terms, second, earlier, ...asked}: Making): Promise<Outcome> => {
  const made = {id: newId('pch'), kind, ...asked}
  const bare = {subscription: terms.found.id, prorationDate: second, invoice: latestInvoiceOf(terms), calls: []}
  const first = firstCall(tools, {...made, params: bare}, terms)
  // Half of it stands; what is asked for now is worked out from that.
  if (earlier?.state === 'partial') await supersede(tools, held, earlier.change)
  if (first === null) return {change: {...made, params: bare, ...settled}, state: 'accepted', terms, failure: null}
  const row = await tools.db.transaction(async tx => {
    await assertHeld(tx, held)
    return insertPlanChange(tx, {...made, params: {...bare, calls: [first]}})
  })
  return pursue(tools, held, row, terms, true)
}

const supersede = ({db}: Tools, held: Held, {org, id}: PlanChange) =>
  db.transaction(async tx => {
    await assertHeld(tx, held)
    await setChangeState(tx, {org, id, state: 'superseded'})
  })

const settled: Pick<PlanChange, 'state' | 'isYoung' | 'settledAt'> = {state: 'accepted', isYoung: true, settledAt: null}

/** A coupon or a credit of the very second in between: it is charged as the provider says, and somebody should know. */
const noteDifference = ({log}: Tools, {change: made, terms}: Outcome, {due}: Shown) => {
  const charged = terms && describeChange(made, terms, null).due.amount
  if (charged !== due) log.error({change: made.id, shown: due, charged}, 'a plan change was charged otherwise than it was shown')
}

/** The preview is computed from the same reading, so its date is the expected one. */
const noteOtherEnd = ({log}: Tools, {change: made, terms}: Outcome, expected: string | null) => {
  if (!terms) return
  const endsAt = terms.read.cancelsAt
  if (endsAt !== expected) log.error({change: made.id, expected, endsAt}, 'a cancellation ends the plan on another date than shown')
}

/** `before`: as the subscription stood, for what waited then. */
const answerOf = async (tools: Tools, {change: made, state, terms, failure}: Outcome, before: Terms | null = null): Promise<Answer> => {
  const waited = before?.read.pending ?? null
  if (state === 'accepted' && terms) return describeChange(made, terms, isPending(waited, made.target) ? null : waited)
  if (state === 'confirming') throw await confirmFirst(tools.db, made.org, terms!)
  if (state === 'declined') throw await declined(tools.db, made.org, wantsConfirmation({state, failure}))
  if (state === 'partial') throw incomplete(terms)
  if (failure) throw refusalOf(tools.log, failure, 'a plan was not changed')
  throw new Refusal('NOT_SUBSCRIBED', 'The plan of this org ended meanwhile: buy one by POST /orgs/{org}/billing/checkout')
}

/** Nothing is charged or changed before the customer confirms the payment at the provider's page. */
const confirmFirst = (db: Pool, org: string, terms: Terms) => {
  const confirmation = confirmationOf(terms)
  if (confirmation === null) return declined(db, org, true)
  const says = `Your bank wants this payment confirmed. Nothing is charged or changed before that: confirm it at ${confirmation.url}`
  return refusePayment(db, org, 'CARD_DECLINED', says, {confirmation})
}

const declined = (db: Pool, org: string, wantsConfirming: boolean) =>
  refusePayment(
    db,
    org,
    'CARD_DECLINED',
    wantsConfirming
      ? 'The bank wants this payment confirmed, so nothing was charged or changed: use another card by POST /billing/portal'
      : 'The card was declined, so nothing was charged or changed: change it by POST /billing/portal, and try again',
  )

const incomplete = (terms: Terms | null) =>
  new Refusal(
    'CHANGE_INCOMPLETE',
    'The change was made by half: ask for the same again to have it finished, or take back what waits by DELETE /orgs/{org}/billing/plan/pending',
    {stands: terms && describeStanding(terms)},
  )
