import {slotAwaited, slotGiven, slotTaken} from '../metrics/crm.ts'
import type {Portion, Want} from './sharing.ts'

/** A bound on calls in flight at the CRM. First come, first served; a waiter whose signal aborts leaves the line. */
export type Slots = {take(signal: AbortSignal): Promise<void>; give(): void}

/** Slots whose number changes while they are used. A large call takes one of the large and one of all. */
export type LiveSlots = {
  large: Slots
  small: Slots
  /** Lowered below what is in use, none is given out until so many have come back. */
  resize(limit: Portion): void
  /** What may be in use until the next `resize`. */
  held(): Portion
  /** That, what is in use, and how many calls would have been in flight if they could, of late. */
  report(): {held: Portion; inUse: number; want: Want}
}

type Opening = {isOpen(): boolean; onChange(): void; first: Want}

/**
 * `isOpen`: nothing is given out while it is not. `onChange`: more is wanted than was reported, or less is held. `first`: what is
 * wanted before anything is asked for.
 */
export const openSlots = ({isOpen, onChange, first}: Opening): LiveSlots => {
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
  }
  const take = (large: boolean, signal: AbortSignal) => {
    signal.throwIfAborted()
    const isMore = demand.add(large)
    if (isRoom(large)) {
      use(large, 1)
      return Promise.resolve()
    }
    if (isMore) onChange()
    return waitIn(line, large, signal).catch(reason => {
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
    large: {take: signal => take(true, signal), give: () => give(true)},
    small: {take: signal => take(false, signal), give: () => give(false)},
    resize(to) {
      limit = to
      admit()
    },
    report: () => ({held: held(), inUse: inUse.total, want: demand.report()}),
  }
}

type Waiter = {large: boolean; enter(): void}

const waitIn = (line: Waiter[], large: boolean, signal: AbortSignal) =>
  new Promise<void>((resolve, reject) => {
    const waited = slotAwaited()
    const leave = () => {
      waited(false)
      line.splice(line.indexOf(waiter), 1)
      reject(signal.reason)
    }
    const waiter = {
      large,
      enter() {
        signal.removeEventListener('abort', leave)
        waited(true)
        resolve()
      },
    }
    signal.addEventListener('abort', leave, {once: true})
    line.push(waiter)
  })

/** No edition allows more calls at once. Source: wire reference 10. */
const mostWanted = 25

/** How many calls were in flight or in line at once, at most, since the report before the last one: a run between two batches keeps its share. */
const openDemand = (first: Want) => {
  const asked = {large: 0, small: 0}
  let before = first
  let peak = {large: 0, small: 0}
  let reported = before
  return {
    /** Whether more is wanted now than was reported. */
    add(large: boolean) {
      const size = large ? 'large' : 'small'
      asked[size]++
      peak[size] = Math.min(mostWanted, Math.max(peak[size], asked[size]))
      return peak[size] > reported[size]
    },
    drop(large: boolean) {
      asked[large ? 'large' : 'small']--
    },
    report() {
      reported = {large: Math.max(before.large, peak.large), small: Math.max(before.small, peak.small)}
      before = peak
      peak = {large: Math.min(mostWanted, asked.large), small: Math.min(mostWanted, asked.small)}
      return reported
    },
  }
}
