import {matches} from './glob.ts'

/** The effect of a fault. `before`: the call has no effect; `after`: the call takes effect and only its answer is changed. */
export type FaultAction =
  /** `saved`: later calls with the same idempotency key get this answer. */
  | {type: 'status'; status: number; when?: 'before' | 'after'; body?: 'error' | 'html' | 'bare'; shouldRetry?: boolean; saved?: boolean}
  | {type: 'rateLimit'; code?: 'rate_limit' | 'lock_timeout'; shouldRetry?: boolean}
  | {type: 'reset'; when?: 'before' | 'after'}
  | {type: 'half'}
  | {type: 'slow'; ms: number; when?: 'before' | 'after'}
  | {type: 'hold'; when?: 'before' | 'after'}

export type FaultSpec = {
  method?: string
  /** A glob: `/v1/subscriptions/*`. */
  path?: string
  /** The first affected one of the matching calls. */
  nth?: number
  times?: number
  action: FaultAction
}

export type Fault = FaultSpec & {id: number; seen: number; used: number; times: number}

export type Faults = {
  add: (spec: FaultSpec) => number
  list: () => Fault[]
  clear: () => void
  take: (method: string, path: string) => Fault | null
  /** Releases all held calls. Returns their number. */
  release: () => number
  held: () => number
  wait: () => Promise<void>
}

const types = ['status', 'rateLimit', 'reset', 'half', 'slow', 'hold']

export const createFaults = (): Faults => {
  let faults: Fault[] = []
  let waiting: (() => void)[] = []
  let last = 0
  return {
    add: spec => {
      if (!types.includes(spec.action?.type)) throw new TypeError(`No such fault: ${JSON.stringify(spec.action)}`)
      faults.push({times: 1, ...spec, id: (last += 1), seen: 0, used: 0})
      return last
    },
    list: () => faults.map(fault => ({...fault})),
    clear: () => {
      faults = []
    },
    take: (method, path) => {
      for (const fault of faults) {
        if (fault.used >= fault.times) continue
        if ((fault.method ?? method) !== method || !matches(fault.path ?? '**', path)) continue
        fault.seen += 1
        if (fault.seen < (fault.nth ?? 1)) continue
        fault.used += 1
        return fault
      }
      return null
    },
    release: () => {
      const going = waiting
      waiting = []
      for (const go of going) go()
      return going.length
    },
    held: () => waiting.length,
    wait: () => new Promise(resolve => waiting.push(resolve)),
  }
}
