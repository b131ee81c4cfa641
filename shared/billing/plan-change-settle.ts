import type {Pool, Tx} from '../../sql/database.ts'
import {findChangeOnItsWay, findUnsettledChange, listAcceptedChanges, type PlanChange, setChangeState} from '../../sql/plan-changes.ts'
import {findSubscription, type Subscription} from '../../sql/subscriptions.ts'
import {Refusal} from '../errors.ts'
import type {Author} from '../registry/change.ts'
import {assertHeld, changeInProgress, type Held} from './lease.ts'
import {failureIn, PaymentFailure} from './payment-failure.ts'
import {isPending} from './plan-change-answer.ts'
import {settleConfirming} from './plan-change-confirm.ts'
import {type Outcome, pursue, type Tools} from './plan-change-run.ts'
import {readTermsOf} from './plan-change-terms.ts'
import {isOver} from './subscription.ts'

/**
 * Brings the held org's change that was begun and not ended to its end, and notes of those the provider has taken whether our rows show them by
 * now. What can be done by nobody yet stays as it is: it is asked for again with the next round.
 */
export const settleChanges = async (tools: Tools, held: Held): Promise<void> => {
  await settleUnsettled(tools, held)
  await settleConfirming(tools, held, {givesUp: false})
  await landChanges(tools.db, held)
}

/** For whoever only looks: what a change would cost beside one that is open is not known before that one is. */
export const assertNoneOpen = async (db: Pool, org: string): Promise<void> => {
  const state = (await findUnsettledChange(db, org))?.state
  if (state === 'unknown') throw unconfirmed()
  if (state === 'started') throw changeInProgress()
}

export const unconfirmed = () =>
  new Refusal(
    'CHANGE_UNCONFIRMED',
    'Nobody knows yet whether the last change of this plan went through: it is being found out, try again in a few minutes',
    {retryAfterMs: 60_000},
  )

/** Null where there is none. */
export const settleUnsettled = async (tools: Tools, held: Held): Promise<Outcome | null> => {
  const change = await findUnsettledChange(tools.db, held.org)
  if (!change) return null
  const terms = await readTermsOf(tools, change.params.subscription).catch(failureIn)
  if (!(terms instanceof PaymentFailure)) return pursue(tools, held, change, terms)
  tools.log.warn({err: terms, change: change.id}, 'what became of a plan change could not be read')
  return {change, state: 'unknown', terms: null, failure: terms}
}

/** The newest of those the provider has taken has landed when our rows, read after it, show it; a newer one, or somebody else, has overtaken the rest. */
const landChanges = (db: Pool, held: Held): Promise<void> =>
  db.transaction(async tx => {
    await assertHeld(tx, held)
    const row = await findSubscription(tx, held.org)
    const [newest, ...older] = await listAcceptedChanges(tx, held.org)
    for (const {id, org} of older) await setChangeState(tx, {org, id, state: 'superseded'})
    if (!newest || !row || row.readAt <= newest.settledAt!) return
    await setChangeState(tx, {org: newest.org, id: newest.id, state: shows(row, newest) ? 'landed' : 'superseded'})
  })

type Shown = Pick<Subscription, 'id' | 'status' | 'planVersionId' | 'interval' | 'pending' | 'cancelsAt'>

const shows = (row: Shown, {kind, target, params}: PlanChange): boolean => {
  if (row.id !== params.subscription) return false
  const isOn = row.planVersionId === target.planVersionId && row.interval === target.interval
  if (kind === 'cancel') return row.cancelsAt !== null || isOver(row)
  if (kind === 'take_back') return row.pending === null
  return kind === 'now' ? isOn : isOn || isPending(row.pending, target)
}

/**
 * Whoever asked for what a subscription was just read to say: of a change that is on its way and that this shows. Null for everything that comes
 * from elsewhere, and for a change that has landed before: what follows from it later is the schedule's doing.
 */
export const findChangeAuthor = async (tx: Tx, {org, read}: {org: string; read: Shown}): Promise<Author | null> => {
  const change = await findChangeOnItsWay(tx, org)
  return change?.person && shows(read, change) ? {org, via: 'session', person: change.person} : null
}
