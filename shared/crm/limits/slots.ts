import {slotAwaited, slotGiven, slotTaken} from '../../telemetry/metrics/crm.ts'
import type {SlotCounts, SlotDemand} from './fair-share.ts'

/**
 * A bound on calls in flight at the CRM. Waiters are served in order. A waiter whose signal aborts leaves the queue. `onNear` is called once the
 * waiter is one of the first two in the queue, so that it can prepare its call. It may be called several times.
 */
export type Slots = {take(signal: AbortSignal, onNear?: () => void): Promise<void>; give(): void}

/** Slots whose number changes during use. A large call takes a large slot and one of the total. */
export type LiveSlots = {
  large: Slots
  small: Slots
  /** Sets the limit. If more slots are in use, no slot is granted until enough are returned. */
  resize(limit: SlotCounts): void
  held(): SlotCounts
  /** The recent demand: the calls that would be in flight without a limit. */
  want(): SlotDemand
  /** Returns the held slots, the slots in use, and the recent demand, which becomes the reported demand. */
  report(): {held: SlotCounts; inUse: number; want: SlotDemand}
  /** Begins the next window of the demand. */
  nextWindow(): void
}

type OpenSlotsOptions = {isOpen(): boolean; onChange(): void; first: SlotDemand}

/**
 * Opens slots. `isOpen`: slots are granted only while this is true. `onChange` is called when a call must wait and demand exceeds
 * the last report, and when a slot above the limit is returned. `first`: the demand to report before the first call.
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

const nearest = 2

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

/** The most demand that is reported: the highest limit of any edition. Source: zoho.com/crm/developer/docs/api/v8/api-limits.html. */
const mostWanted = 25

/** Measures demand: the most calls in flight or waiting at once in this window and the one before. A run between two batches thus keeps its share. */
const openDemand = (first: SlotDemand) => {
  const asked = {large: 0, small: 0}
  let before = first
  let peak = {large: 0, small: 0}
  let reported = before
  const want = () => ({large: Math.max(before.large, peak.large), small: Math.max(before.small, peak.small)})
  return {
    want,
    /** Adds a call. Returns whether demand has risen above the last report. */
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
