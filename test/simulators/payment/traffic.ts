import {createHash} from 'node:crypto'
import {matches} from './glob.ts'

/** What happens to deliveries on their way; the first rule that matches an event and has times left. */
export type TrafficRule = {
  /** A glob over the event's type: `customer.subscription.*`. */
  type?: string
  times?: number
  action:
    | 'drop'
    | 'duplicate'
    /** Told twice, the second time as another event. */
    | 'duplicate-with-new-id'
    /** Sent while the call that caused it is still open. */
    | 'during'
    /** Seconds of the stand-in's time. */
    | {delay: number}
}

export type Traffic = {
  add: (rule: TrafficRule) => void
  clear: () => void
  take: (type: string) => TrafficRule['action'] | null
  /** Shuffles what leaves together; the same order for the same seed. */
  shuffle: (isOn: boolean) => void
  order: <T extends {id: string}>(things: T[]) => T[]
  /** What leaves at the same time leaves at once, nobody waiting for the other's answer; one after the other unless told so. */
  together: (isOn: boolean) => void
  isTogether: () => boolean
  /** Nothing leaves until it is let go. */
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
