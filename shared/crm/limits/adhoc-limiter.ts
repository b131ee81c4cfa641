import type {CrmOrg} from '../../../sql/crm-quota.ts'
import {Refusal} from '../../errors.ts'
import {startClock} from '../deadline.ts'
import type {Budget, SlotShare} from './budget.ts'
import {openSharePool} from './share-pool.ts'

/** Limits the concurrent calls of a connection to the slots of its CRM org. */
export type RateLimiter = {enter(asking: SlotRequest): Promise<HeldSlot>}
/** A request for one slot. `large`: the call is a query, or a write of more than ten records. */
type SlotRequest = {large: boolean; signal: AbortSignal | undefined}
/** A slot in use. Call `crowded` if the CRM refused because of too many concurrent calls, and `leave` when the call has ended. */
type HeldSlot = {crowded(): Promise<void>; leave(): void}

/** A limiter that grants every call, for connections whose caller takes slots itself. */
export const unlimited: RateLimiter = {enter: async () => ({crowded: async () => {}, leave() {}})}

/** The limiter for all calls of this process that belong to no run. */
type AdhocLimiter = {limiterOf(org: CrmOrg): RateLimiter; close(): Promise<void>}

/**
 * `waitSeconds`: the maximum wait for a slot. A run can end a call in this time, and a user need not wait long. `idleMs`: an unused share is returned
 * after this time.
 */
type AdhocLimiterOptions = {idleMs?: number; waitSeconds?: number}

export const openAdhocLimiter = (budget: Budget, {idleMs, waitSeconds = 20}: AdhocLimiterOptions = {}): AdhocLimiter => {
  const shares = openSharePool(budget, idleMs === undefined ? {} : {idleMs})
  let closed = false

  const enter = async (org: CrmOrg, {large, signal}: SlotRequest): Promise<HeldSlot> => {
    if (closed) throw callCancelled()
    const {share, leave} = shares.enter(org)
    const slots = large ? share.large : share.small
    await takeSlotWithin(waitSeconds, slots, signal).catch(error => {
      leave()
      throw error
    })
    return {
      crowded: share.cut,
      leave() {
        slots.give()
        leave()
      },
    }
  }

  return {
    limiterOf: org => ({enter: asking => enter(org, asking)}),
    close() {
      closed = true
      return shares.close()
    },
  }
}

const takeSlotWithin = async (seconds: number, slots: SlotShare['small'], signal: AbortSignal | undefined) => {
  const clock = startClock(seconds, signal, 'No free slot')
  try {
    await slots.take(clock.signal)
  } catch {
    throw signal?.aborted ? callCancelled() : noFreeSlot(seconds)
  } finally {
    clock.stop()
  }
}

export const callCancelled = () => new Refusal('UNAVAILABLE', 'The call was cancelled before it was sent')

const noFreeSlot = (seconds: number) =>
  new Refusal('UNAVAILABLE', `All concurrent calls that this CRM allows were in use for ${seconds} s. Try again in a moment`)
