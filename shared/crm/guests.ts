import type {CrmOrg} from '../../sql/allowances.ts'
import {Refusal} from '../errors.ts'
import type {Budget, Share} from './budget.ts'
import {startClock} from './deadline.ts'
import {keepShares} from './kept-shares.ts'

/** How the calls of a connection keep to the concurrency budget of their CRM org. */
export type Pace = {enter(asking: Asking): Promise<Entered>}
/** `large`: a query, or a write of more than ten records. */
type Asking = {large: boolean; signal: AbortSignal | undefined}
/** `crowded`: the CRM refused the call for there being too many. `leave`: the call has ended. */
type Entered = {crowded(): Promise<void>; leave(): void}

/** Whoever opened the connection holds slots of its own. */
export const ownPace: Pace = {enter: async () => ({crowded: async () => {}, leave() {}})}

/** The calls of this process that belong to no run. */
type Guests = {paceOf(org: CrmOrg): Pace; close(): Promise<void>}

/**
 * `waitSeconds` for a slot: long enough for every run to have had a call answered, short enough for somebody who looks on. `idleMs`:
 * until an unused share goes back.
 */
type Patience = {idleMs?: number; waitSeconds?: number}

export const openGuests = (budget: Budget, {idleMs, waitSeconds = 20}: Patience = {}): Guests => {
  const shares = keepShares(budget, idleMs === undefined ? {} : {idleMs})
  let closed = false

  const enter = async (org: CrmOrg, {large, signal}: Asking): Promise<Entered> => {
    if (closed) throw calledOff()
    const {share, leave} = shares.enter(org)
    const slots = large ? share.large : share.small
    await takeWithin(waitSeconds, slots, signal).catch(error => {
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
    paceOf: org => ({enter: asking => enter(org, asking)}),
    close() {
      closed = true
      return shares.close()
    },
  }
}

const takeWithin = async (seconds: number, slots: Share['small'], signal: AbortSignal | undefined) => {
  const clock = startClock(seconds, signal, 'No free call')
  try {
    await slots.take(clock.signal)
  } catch {
    throw signal?.aborted ? calledOff() : crowdedOut(seconds)
  } finally {
    clock.stop()
  }
}

/** Before anything was sent, because whoever asked no longer waits. */
export const calledOff = () => new Refusal('UNAVAILABLE', 'The call was called off before it was sent')

const crowdedOut = (seconds: number) =>
  new Refusal('UNAVAILABLE', `All the calls this CRM takes at once were in use for ${seconds} s: ask again in a moment`)
