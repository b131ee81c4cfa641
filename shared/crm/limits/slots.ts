import {slotAwaited, slotGiven, slotTaken} from '../../telemetry/metrics/crm.ts'
import type {SlotCounts, SlotDemand} from './fair-share.ts'

/**
 * A limit on calls in flight at the CRM. Waiters are served in order, but a small call passes large calls that lack a large slot. A waiter whose
 * signal aborts leaves the queue. `onNear` is called, maybe repeatedly, while the waiter is among the first five, so that the waiter can prepare
 * its call.
 */
export type Slots = {take(signal: AbortSignal, onNear?: () => void): Promise<void>; give(): void}

/** Slots whose number changes during use. A large call takes a large slot and one of the total. */
export type LiveSlots = {
  large: Slots
  small: Slots
  /** Sets the limit. If more slots than the limit are in use, no slot is granted until enough slots are returned. */
  resize(limit: SlotCounts): void
  held(): SlotCounts
  /** The recent demand: the calls that would be in flight without a limit. */
  want(): SlotDemand
  /** Later calls compare their demand with this report. */
  report(): {held: SlotCounts; inUse: number; want: SlotDemand}
  nextWindow(): void
}

type OpenSlotsOptions = {isOpen(): boolean; onChange(): void; first: SlotDemand}

/**
 * Opens slots. `isOpen`: slots are granted only while this returns true. `onChange` is called when a call must wait and the demand exceeds the
 * last report, and when a slot above the limit is returned. `first`: the demand to report before the first call.
 */
export const openSlots = ({isOpen, onChange, first}: OpenSlotsOptions): LiveSlots => {
  const line: Waiter[] = []
  const demand = openDemand(first)
  const inUse = {total: 0, large: 0}
  let limit = {total: 0, large: 0}

  const isRoom = (large: boolean) => inUse.total < limit.total && (!large || inUse.large < limit.large) && isOpen()
  const use = (large: boolean, count: 1 | -1) => {
    inUse.total += count
    if (count > 0) slotTaken()
    else slotGiven()
    if (large) inUse.large += count
  }
  const admit = () => {
    for (let at = 0; at < line.length && inUse.total < limit.total; ) {
      const {large, enter} = line[at]!
      if (!isRoom(large)) at++
      else {
        line.splice(at, 1)
        use(large, 1)
        enter()
      }
    }
    notifyNear(line)
  }
  const take = (large: boolean, signal: AbortSignal, onNear?: () => void) => {
    signal.throwIfAborted()
    const isMore = demand.add(large)
    if (isRoom(large)) {
      use(large, 1)
      return Promise.resolve()
    }
    if (isMore) onChange()
    return waitInQueue(line, {large, onNear}, signal).catch(reason => {
      demand.drop(large)
      throw reason
    })
  }
  const give = (large: boolean) => {
    const drains = inUse.total > limit.total || (large && inUse.large > limit.large)
    use(large, -1)
    demand.drop(large)
    if (drains) onChange()
    admit()
  }

  const held = () => ({total: Math.max(limit.total, inUse.total), large: Math.max(limit.large, inUse.large)})
  return {
    held,
    large: {take: (signal, onNear) => take(true, signal, onNear), give: () => give(true)},
    small: {take: (signal, onNear) => take(false, signal, onNear), give: () => give(false)},
    resize(to) {
      limit = to
      admit()
    },
    want: demand.want,
    report: () => ({held: held(), inUse: inUse.total, want: demand.report()}),
    nextWindow: demand.nextWindow,
  }
}

type Call = {large: boolean; onNear: (() => void) | undefined}
type Waiter = Call & {enter(): void}

/**
 * The number of waiters that prepare their calls. Calls that began together end together, so several slots become free at once. The number is small,
 * because a prepared call is unanswered after a crash.
 */
const nearest = 5

const notifyNear = (line: Waiter[]) => {
  for (const {onNear} of line.slice(0, nearest)) onNear?.()
}

const waitInQueue = (line: Waiter[], call: Call, signal: AbortSignal) =>
  new Promise<void>((resolve, reject) => {
    const waited = slotAwaited()
    const leave = () => {
      waited(false)
      line.splice(line.indexOf(waiter), 1)
      notifyNear(line)
      reject(signal.reason)
    }
    const waiter = {
      ...call,
      enter() {
        signal.removeEventListener('abort', leave)
        waited(true)
        resolve()
      },
    }
    signal.addEventListener('abort', leave, {once: true})
    line.push(waiter)
    notifyNear(line)
  })

/**
 * The maximum demand that is reported: the concurrency limit of the CRM's largest edition. Source:
 * zoho.com/crm/developer/docs/api/v8/api-limits.html.
 */
const mostWanted = 25

/**
 * Measures demand: the maximum number of calls in flight or waiting during the current or the previous interval. The previous interval counts, so
 * that a run keeps its share between two batches.
 */
const openDemand = (first: SlotDemand) => {
  const asked = {large: 0, small: 0}
  let before = first
  let peak = {large: 0, small: 0}
  let reported = before
  const want = () => ({large: Math.max(before.large, peak.large), small: Math.max(before.small, peak.small)})
  return {
    want,
    /** Adds a call. Returns whether the demand of the current interval exceeds the demand that was last reported. */
    add(large: boolean) {
      const size = large ? 'large' : 'small'
      asked[size]++
      peak[size] = Math.min(mostWanted, Math.max(peak[size], asked[size]))
      return peak.large > reported.large || peak.small > reported.small
    },
    drop(large: boolean) {
      asked[large ? 'large' : 'small']--
    },
    report() {
      reported = want()
      return reported
    },
    nextWindow() {
      before = peak
      peak = {large: Math.min(mostWanted, asked.large), small: Math.min(mostWanted, asked.small)}
    },
  }
}
