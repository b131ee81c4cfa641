import {randomUUID} from 'node:crypto'
import type {Pool} from '../../sql/database.ts'
import {
  type ChangeState,
  type NewChange,
  type PlanChange,
  type PlannedCall,
  setChangeParams,
  setChangeState,
} from '../../sql/plan-changes.ts'
import {listPlans} from '../../sql/plans.ts'
import type {Config} from '../config.ts'
import {atPoint} from '../fault-point.ts'
import type {Log} from '../log.ts'
import {assertHeld, type Held, keepHeld} from './lease.ts'
import {failureIn, PaymentFailure} from './payment-failure.ts'
import type {PaymentProvider} from './payment-provider.ts'
import {isConfirmCall, isSameStep, type NextCall, nextCall, type Sent, sendCall, waitsForConfirmation} from './plan-change-calls.ts'
import {readTermsOf, type Terms, termsOf} from './plan-change-terms.ts'

export type Tools = {config: Config; db: Pool; payment: PaymentProvider; log: Log}

/** How a change stands after it was pursued. `terms` as last read; `failure` says why it is not accepted. */
export type Outcome = {change: PlanChange; state: ChangeState; terms: Terms | null; failure: PaymentFailure | null}

/**
 * Calls what is still to be called for a change, and writes down how it stands then. The same whether it has just been begun or was left behind
 * by a process that died: what was done is seen at the provider, and what was sent and not answered is sent again to the byte, under its key.
 * `isNew`: nothing of it was ever sent.
 */
export const pursue = async (tools: Tools, held: Held, change: PlanChange, terms: Terms | null, isNew = false): Promise<Outcome> => {
  const outcome = await follow({tools, held, isNew, change: {...change}, since: performance.now()}, terms)
  const {state, failure} = outcome
  await tools.db.transaction(async tx => {
    await assertHeld(tx, held)
    await setChangeState(tx, {org: change.org, id: change.id, state, error: failure && (failure.code ?? failure.kind)})
  })
  return outcome
}

/** What a new row begins with: it is written before it is sent. Null where nothing is to be called. */
export const firstCall = (tools: Tools, change: NewChange, terms: Terms): PlannedCall | null => {
  const next = nextCall(tools.config, {...change, prorationDate: change.params.prorationDate, isConfirming: false}, terms)
  return next && plannedAs(change, next, terms)
}

const plannedAs = ({id, params: {calls}}: Pick<PlanChange, 'id' | 'params'>, next: NextCall, {fingerprint: from}: Terms): PlannedCall => ({
  ...next,
  key: isConfirmCall(next) ? `chg:${id}:confirm` : calls.length === 0 ? `chg:${id}` : `chg:${id}:${calls.length + 1}`,
  from,
  done: false,
})

/** `refusedBy`: the bank, which wants the customer to confirm the payment. */
type Pursuit = {tools: Tools; held: Held; isNew: boolean; change: PlanChange; since: number; refusedBy?: PaymentFailure | null}

const nextOf = ({tools, change, refusedBy}: Pursuit, terms: Terms): NextCall | null => {
  const {prorationDate, calls} = change.params
  return nextCall(tools.config, {...change, prorationDate, isConfirming: Boolean(refusedBy) || calls.some(isConfirmCall)}, terms)
}

/** No change takes more than three calls; one of them may be planned anew. */
const mostRounds = 6

const follow = async (pursuit: Pursuit, start: Terms | null): Promise<Outcome> => {
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

/** The bank's words for a payment that the customer has to confirm. */
const confirmCodes = ['authentication_required', 'subscription_payment_intent_requires_action', 'authentication_not_handled']

export const wantsConfirmation = ({state, failure}: Pick<Outcome, 'state' | 'failure'>): boolean =>
  state === 'declined' && failure !== null && [failure.declineCode, failure.code].some(code => code !== null && confirmCodes.includes(code))

/** The declined call did nothing, so it is forgotten: the next round plans a call that waits for the customer instead. */
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
): Outcome => ({change, state: state === 'refused' && hasDone(change) ? 'partial' : state, terms, failure})

const hasDone = ({params: {calls}}: PlanChange) => calls.some(({done}) => done)

/**
 * The call as it will be sent, written down. One that was written before is sent as it is, while the provider knows its key and all stands as it
 * did; else it can mean something else by now. Null then, unless a call before it is done: that one wants finishing, by a call made anew.
 */
const plan = async (pursuit: Pursuit, next: NextCall, terms: Terms): Promise<PlannedCall | null> => {
  const {change} = pursuit
  const open = change.params.calls.find(({done, name}) => !done && name === next.name)
  if (open && open.from === terms.fingerprint && change.isYoung) return open
  if (open && !hasDone(change)) return null
  // What else was open is done: another one is due.
  const before = change.params.calls.filter(call => call !== open).map(call => ({...call, done: true}))
  const planned = plannedAs({...change, params: {...change.params, calls: before}}, next, terms)
  const call = open ? {...planned, key: `${planned.key}:${randomUUID()}`} : planned
  await keepCalls(pursuit, [...before, call])
  return call
}

const keepCalls = async ({tools: {db}, held, change}: Pursuit, calls: PlannedCall[]) => {
  change.params = {...change.params, calls}
  await db.transaction(async tx => {
    await assertHeld(tx, held)
    await setChangeParams(tx, change)
  })
}

/** Within this time of the hold there is time for one more try. */
const replayWithinMs = 30_000

/** Where the change stands after one call; or its end, where the call did not work. `isFirst`: it was not sent before. */
const trySend = async (
  pursuit: Pursuit,
  call: PlannedCall,
  {terms, isFirst}: {terms: Terms; isFirst: boolean},
): Promise<{terms: Terms | null} | Outcome> => {
  const {tools, change, since} = pursuit
  let lost: PaymentFailure | null = null
  for (let tries = 1; ; tries++) {
    const answer = await sendOnce(pursuit, call)
    if (!(answer instanceof PaymentFailure)) {
      const now = await after(pursuit, call, answer)
      return now instanceof PaymentFailure ? endAs(pursuit, 'unknown', {terms: null, failure: now}) : {terms: now}
    }
    tools.log.warn(
      {err: answer, change: change.id, call: call.name, kind: answer.kind, request: answer.requestId},
      'a plan change was not done',
    )
    if (answer.kind === 'declined' || isCardMissing(answer, call, terms)) return endAs(pursuit, 'declined', {terms, failure: answer})
    const seen = await lookAgain(pursuit)
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

const sendOnce = async ({tools, held, change: {params}}: Pursuit, call: PlannedCall): Promise<Sent | PaymentFailure> => {
  atPoint(params.calls.length === 1 ? 'after_plan_change' : 'between_payment_calls')
  await keepHeld(tools.db, held)
  const answer = await sendCall(tools.payment, call).catch(failureIn)
  atPoint('after_payment_answer')
  return answer
}

/** The update answers with the whole subscription; what a schedule's call made of it is asked for. */
const after = async (pursuit: Pursuit, call: PlannedCall, answer: Sent): Promise<Terms | null | PaymentFailure> => {
  await markDone(pursuit, call)
  return answer.object === 'subscription' ? termsOf(answer, await listPlans(pursuit.tools.db)) : lookAgain(pursuit)
}

const markDone = (pursuit: Pursuit, call: PlannedCall) =>
  keepCalls(
    pursuit,
    pursuit.change.params.calls.map(one => (one.key === call.key ? {...one, done: true} : one)),
  )

const lookAgain = async ({tools, held, change}: Pursuit): Promise<Terms | null | PaymentFailure> => {
  await keepHeld(tools.db, held)
  return readTermsOf(tools, change.params.subscription).catch(failureIn)
}

/** Another call is due, or none: this one has done what it was for. */
const isDone = (pursuit: Pursuit, call: PlannedCall, seen: Terms | null) => {
  if (seen === null) return true
  const next = nextOf(pursuit, seen)
  return next === null || !isSameStep(next, call)
}

/** Too many calls, or a key of ours that will not do: this one was not looked at, which says nothing of an earlier one that was not answered. */
const isTurnedAway = ({status}: PaymentFailure) => status === 429 || status === 401 || status === 403

/** What the provider has kept under the key of a call that has ended: what that has not done, it does no more. */
const isRemembered = ({cause}: PaymentFailure) =>
  (cause as {headers?: Record<string, string>} | undefined)?.headers?.['idempotent-replayed'] === 'true'

/** What the provider answers with 400 and no code of its own, where nobody has a card to pay the upgrade with. */
const isCardMissing = ({status}: PaymentFailure, {params}: PlannedCall, {hasCard}: Terms) =>
  status === 400 && 'payment_behavior' in params && !hasCard
