import {randomUUID} from 'node:crypto'
import type {Pool} from '../../sql/database.ts'
import {
  type ChangeState,
  type NewPlanChange,
  type PlanChange,
  type PlannedCall,
  setChangeParams,
  setChangeState,
} from '../../sql/plan-changes.ts'
import {listPlans} from '../../sql/plans.ts'
import type {Config} from '../config.ts'
import {atPoint} from '../fault-point.ts'
import type {Log} from '../telemetry/log.ts'
import {assertHeld, type BillingLease, keepLease} from './lease.ts'
import {failureIn, PaymentFailure} from './payment-failure.ts'
import type {PaymentProvider} from './payment-provider.ts'
import {
  type ChangedObject,
  isConfirmCall,
  isSameStep,
  type NextCall,
  nextCall,
  sendCall,
  waitsForConfirmation,
} from './plan-change-calls.ts'
import {readTermsOf, type Terms, termsOf} from './plan-change-terms.ts'

export type PlanChangeDeps = {config: Config; db: Pool; payment: PaymentProvider; log: Log}

/**
 * The state of a change after its execution. `terms`: the subscription as last read; null if it has ended or could not be read. `failure`: the failed
 * call that prevented the change, or null.
 */
export type PlanChangeOutcome = {change: PlanChange; state: ChangeState; terms: Terms | null; failure: PaymentFailure | null}

/**
 * Executes the remaining calls of a change and stores its new state. The change is new, or a process crashed while it executed the change. The
 * provider's state shows which calls succeeded. Unanswered calls are repeated byte for byte with the same idempotency key. `isNew`: no call of the
 * change was ever sent.
 */
export const executeChange = async (
  deps: PlanChangeDeps,
  billingLease: BillingLease,
  change: PlanChange,
  terms: Terms | null,
  isNew = false,
): Promise<PlanChangeOutcome> => {
  const outcome = await continueChange({tools: deps, held: billingLease, isNew, change: {...change}, since: performance.now()}, terms)
  const {state, failure} = outcome
  await deps.db.transaction(async tx => {
    await assertHeld(tx, billingLease)
    await setChangeState(tx, {org: change.org, id: change.id, state, error: failure && (failure.code ?? failure.kind)})
  })
  return outcome
}

/** Returns the first call of a new change, which callers store before it is sent. Null if no call is needed. */
export const firstCall = (deps: PlanChangeDeps, change: NewPlanChange, terms: Terms): PlannedCall | null => {
  const next = nextCall(deps.config, {...change, prorationDate: change.params.prorationDate, isConfirming: false}, terms)
  return next && plannedAs(change, next, terms)
}

const plannedAs = ({id, params: {calls}}: Pick<PlanChange, 'id' | 'params'>, next: NextCall, {fingerprint: from}: Terms): PlannedCall => ({
  ...next,
  key: isConfirmCall(next) ? `chg:${id}:confirm` : calls.length === 0 ? `chg:${id}` : `chg:${id}:${calls.length + 1}`,
  from,
  done: false,
})

/**
 * The execution of one change. `since`: when it began, by `performance.now()`. `refusedBy`: the failure that shows that the customer must
 * confirm the payment at the bank.
 */
type Pursuit = {
  tools: PlanChangeDeps
  held: BillingLease
  isNew: boolean
  change: PlanChange
  since: number
  refusedBy?: PaymentFailure | null
}

const nextOf = ({tools: deps, change, refusedBy}: Pursuit, terms: Terms): NextCall | null => {
  const {prorationDate, calls} = change.params
  return nextCall(deps.config, {...change, prorationDate, isConfirming: Boolean(refusedBy) || calls.some(isConfirmCall)}, terms)
}

/** Maximum number of rounds, a limit against endless loops. A change takes at most three calls, one of which may be planned again. */
const mostRounds = 6

const continueChange = async (pursuit: Pursuit, start: Terms | null): Promise<PlanChangeOutcome> => {
  let terms = start
  for (let round = 0; round < mostRounds; round++) {
    if (terms === null) return endAs(pursuit, 'superseded', {terms})
    const {calls} = pursuit.change.params
    const next = nextOf(pursuit, terms)
    if (next === null) return endAs(pursuit, waitsForConfirmation(pursuit.change, terms) ? 'confirming' : 'accepted', {terms})
    if (calls.some(call => call.done && isSameStep(call, next)))
      return endAs(pursuit, isConfirmCall(next) ? 'declined' : 'partial', {terms})
    const call = await plan(pursuit, next, terms)
    if (call === null) return endAs(pursuit, 'refused', {terms})
    const isFirst = pursuit.isNew || !calls.some(({key}) => key === call.key)
    const sent = await trySend(pursuit, call, {terms, isFirst})
    if (!('state' in sent)) terms = sent.terms
    else if (isConfirmCall(call))
      return sent.state === 'refused' ? {...sent, state: 'declined', failure: pursuit.refusedBy ?? sent.failure} : sent
    else if (!wantsConfirmation(sent)) return sent
    else await askForConfirmation(pursuit, call, sent.failure)
  }
  return endAs(pursuit, 'partial', {terms})
}

const confirmCodes = ['authentication_required', 'subscription_payment_intent_requires_action', 'authentication_not_handled']

export const wantsConfirmation = ({state, failure}: Pick<PlanChangeOutcome, 'state' | 'failure'>): boolean =>
  state === 'declined' && failure !== null && [failure.declineCode, failure.code].some(code => code !== null && confirmCodes.includes(code))

/** Removes the declined call, which had no effect. The next round plans a call whose payment the customer can confirm. */
const askForConfirmation = (pursuit: Pursuit, declined: PlannedCall, failure: PaymentFailure | null) => {
  pursuit.refusedBy = failure
  return keepCalls(
    pursuit,
    pursuit.change.params.calls.filter(({key}) => key !== declined.key),
  )
}

const endAs = (
  {change}: Pursuit,
  state: ChangeState,
  {terms, failure = null}: {terms: Terms | null; failure?: PaymentFailure | null},
): PlanChangeOutcome => ({change, state: state === 'refused' && hasDone(change) ? 'partial' : state, terms, failure})

const hasDone = ({params: {calls}}: PlanChange) => calls.some(({done}) => done)

/**
 * Stores the call before it is sent. A stored call is sent unchanged if the provider still remembers its key and the subscription is unchanged. In
 * any other case, the stored call could have another effect. A new call is then planned if an earlier call of the change is done; if none is done,
 * returns null.
 */
const plan = async (pursuit: Pursuit, next: NextCall, terms: Terms): Promise<PlannedCall | null> => {
  const {change} = pursuit
  const open = change.params.calls.find(({done, name}) => !done && name === next.name)
  if (open && open.from === terms.fingerprint && change.isYoung) return open
  if (open && !hasDone(change)) return null
  // `next` is due, so all other stored calls are done.
  const before = change.params.calls.filter(call => call !== open).map(call => ({...call, done: true}))
  const planned = plannedAs({...change, params: {...change.params, calls: before}}, next, terms)
  const call = open ? {...planned, key: `${planned.key}:${randomUUID()}`} : planned
  await keepCalls(pursuit, [...before, call])
  return call
}

const keepCalls = async ({tools: {db}, held: billingLease, change}: Pursuit, calls: PlannedCall[]) => {
  change.params = {...change.params, calls}
  await db.transaction(async tx => {
    await assertHeld(tx, billingLease)
    await setChangeParams(tx, change)
  })
}

/** The time after the decision within which a second try may start, in ms. */
const replayWithinMs = 30_000

/**
 * Sends one call, at most twice. Returns the terms after the call, or the outcome if the call failed. `isFirst`: the call was not sent
 * before.
 */
const trySend = async (
  pursuit: Pursuit,
  call: PlannedCall,
  {terms, isFirst}: {terms: Terms; isFirst: boolean},
): Promise<{terms: Terms | null} | PlanChangeOutcome> => {
  const {tools: deps, change, since} = pursuit
  let lost: PaymentFailure | null = null
  for (let tries = 1; ; tries++) {
    const answer = await sendOnce(pursuit, call)
    if (!(answer instanceof PaymentFailure)) {
      const now = await after(pursuit, call, answer)
      return now instanceof PaymentFailure ? endAs(pursuit, 'unknown', {terms: null, failure: now}) : {terms: now}
    }
    deps.log.warn(
      {err: answer, change: change.id, call: call.name, kind: answer.kind, request: answer.requestId},
      'a call of a plan change failed',
    )
    if (answer.kind === 'declined' || isCardMissing(answer, call, terms)) return endAs(pursuit, 'declined', {terms, failure: answer})
    const seen = await readAgain(pursuit)
    const isNo = isTurnedAway(answer) ? isFirst && tries === 1 : answer.kind === 'refused'
    lost ??= answer
    if (seen instanceof PaymentFailure)
      return isNo ? endAs(pursuit, 'refused', {terms, failure: answer}) : endAs(pursuit, 'unknown', {terms: null, failure: lost})
    if (isDone(pursuit, call, seen)) {
      await markDone(pursuit, call)
      return {terms: seen}
    }
    if (isNo || isRemembered(answer)) return endAs(pursuit, 'refused', {terms: seen, failure: answer})
    const isLate = tries > 1 || performance.now() - since > replayWithinMs
    if (isLate || seen?.fingerprint !== call.from) return endAs(pursuit, 'unknown', {terms: seen, failure: lost})
  }
}

const sendOnce = async (
  {tools: deps, held: billingLease, change: {params}}: Pursuit,
  call: PlannedCall,
): Promise<ChangedObject | PaymentFailure> => {
  atPoint(params.calls.length === 1 ? 'after_plan_change' : 'between_payment_calls')
  await keepLease(deps.db, billingLease)
  const answer = await sendCall(deps.payment, call).catch(failureIn)
  atPoint('after_payment_answer')
  return answer
}

/** A call to a schedule returns no subscription, so the subscription is read. */
const after = async (pursuit: Pursuit, call: PlannedCall, answer: ChangedObject): Promise<Terms | null | PaymentFailure> => {
  await markDone(pursuit, call)
  return answer.object === 'subscription' ? termsOf(answer, await listPlans(pursuit.tools.db)) : readAgain(pursuit)
}

const markDone = (pursuit: Pursuit, call: PlannedCall) =>
  keepCalls(
    pursuit,
    pursuit.change.params.calls.map(one => (one.key === call.key ? {...one, done: true} : one)),
  )

const readAgain = async ({tools: deps, held: billingLease, change}: Pursuit): Promise<Terms | null | PaymentFailure> => {
  await keepLease(deps.db, billingLease)
  return readTermsOf(deps, change.params.subscription).catch(failureIn)
}

/** Returns whether the call took effect: the subscription ended, no call is due any more, or a different call is due. */
const isDone = (pursuit: Pursuit, call: PlannedCall, seen: Terms | null) => {
  if (seen === null) return true
  const next = nextOf(pursuit, seen)
  return next === null || !isSameStep(next, call)
}

/**
 * Returns whether the provider rejected the call without processing it, for a rate limit or an invalid key. The rejection proves nothing
 * about an earlier, unanswered try.
 */
const isTurnedAway = ({status}: PaymentFailure) => status === 429 || status === 401 || status === 403

/** Returns whether the provider repeated its stored answer for this key. The call then ended earlier and will have no further effect. */
const isRemembered = ({cause}: PaymentFailure) =>
  (cause as {headers?: Record<string, string>} | undefined)?.headers?.['idempotent-replayed'] === 'true'

/** Returns whether the upgrade failed for lack of a card. The provider then answers 400 without an error code. */
const isCardMissing = ({status}: PaymentFailure, {params}: PlannedCall, {hasCard}: Terms) =>
  status === 400 && 'payment_behavior' in params && !hasCard
