import {createHash} from 'node:crypto'
import {matches} from './glob.ts'

/** A rule for deliveries; the first matching rule with uses left applies. */
export type TrafficRule = {
  /** A glob for the event type: `customer.subscription.*`. */
  type?: string
  times?: number
  action:
    | 'drop'
    | 'duplicate'
    /** Sent twice, the second time under another event id. */
    | 'duplicate-with-new-id'
    /** Sent during the call that caused the event. */
    | 'during'
    /** Seconds of the stand-in's clock. */
    | {delay: number}
}

export type Traffic = {
  add: (rule: TrafficRule) => void
  clear: () => void
  take: (type: string) => TrafficRule['action'] | null
  /** Shuffles deliveries of the same time, equally for equal seeds. */
  shuffle: (isOn: boolean) => void
  order: <T extends {id: string}>(things: T[]) => T[]
  /** Sends deliveries of the same time in parallel; the default is one after the other. */
  together: (isOn: boolean) => void
  isTogether: () => boolean
  /** Holds all deliveries until released. */
  pause: (isOn: boolean) => void
  isPaused: () => boolean
}

export const createTraffic = (seed: string): Traffic => {
  let rules: (TrafficRule & {left: number})[] = []
  let shuffled = false
  let paused = false
  let together = false
  const rank = (id: string) => createHash('sha256').update(`${seed}:${id}`).digest('hex')
  return {
    add: rule => rules.push({...rule, left: rule.times ?? 1}),
    clear: () => {
      rules = []
      shuffled = false
      paused = false
      together = false
    },
    take: type => {
      const rule = rules.find(one => one.left > 0 && matches(one.type ?? '**', type))
      if (!rule) return null
      rule.left -= 1
      return rule.action
    },
    shuffle: isOn => {
      shuffled = isOn
    },
    order: things => (shuffled ? things.toSorted((a, b) => (rank(a.id) < rank(b.id) ? -1 : 1)) : things),
    together: isOn => {
      together = isOn
    },
    isTogether: () => together,
    pause: isOn => {
      paused = isOn
    },
    isPaused: () => paused,
  }
}
