import {createHash} from 'node:crypto'
import {setTimeout as wait} from 'node:timers/promises'
import type {SimulatorState} from './state.ts'
import type {Thing} from './store.ts'
import type {Answer} from './wire.ts'

/** The effect of a fault. `before`: the call has no effect. `after`: the call takes effect, and only its answer is changed. */
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
  /** A glob such as `/v1/subscriptions/*`. */
  path?: string
  /** The number of the first affected call among the matching ones. */
  nth?: number
  times?: number
  action: FaultAction
}

export type Fault = FaultSpec & {id: number; seen: number; used: number; times: number}

const types = ['status', 'rateLimit', 'reset', 'half', 'slow', 'hold']

export const createFaults = () => {
  let faults: Fault[] = []
  let waiting: (() => void)[] = []
  let last = 0
  return {
    add: (spec: FaultSpec): number => {
      if (!types.includes(spec.action?.type)) throw new TypeError(`No such fault: ${JSON.stringify(spec.action)}`)
      faults.push({times: 1, ...spec, id: (last += 1), seen: 0, used: 0})
      return last
    },
    list: () => faults.map(fault => ({...fault})),
    clear: () => void (faults = []),
    take: (method: string, path: string): Fault | null => {
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
    /** Releases all held calls. Returns how many it released. */
    release: () => {
      const released = waiting
      waiting = []
      for (const resume of released) resume()
      return released.length
    },
    held: () => waiting.length,
    wait: () => new Promise<void>(resolve => waiting.push(resolve)),
  }
}

/** How a call ends: with a full answer, with half of one (`halved`), or without one (`dropped`). */
export type Spoiled = {answer: Answer; end: 'answered' | 'dropped' | 'halved'}

/** Returns the end of a call that the fault stops before its effect, or null to continue. */
export const spoilBefore = async (world: SimulatorState, fault: Fault | null, requestId: string): Promise<Spoiled | null> => {
  const action = fault?.action
  if (!action || ('when' in action && action.when === 'after')) return null
  if (action.type === 'rateLimit') return {answer: limited(action), end: 'answered'}
  return spoil(world, action, {status: 0}, requestId)
}

/** Applies the fault to the answer of a call that took effect. */
export const spoilAfter = async (world: SimulatorState, fault: Fault | null, answer: Answer, requestId: string): Promise<Spoiled> => {
  const action = fault?.action
  if (action?.type === 'half') return {answer, end: 'halved'}
  const isAfter = action && 'when' in action && action.when === 'after'
  return (isAfter && (await spoil(world, action, answer, requestId))) || {answer, end: 'answered'}
}

const spoil = async (world: SimulatorState, action: FaultAction, answer: Answer, requestId: string): Promise<Spoiled | null> => {
  if (action.type === 'slow') await wait(action.ms)
  if (action.type === 'hold') await world.faults.wait()
  if (action.type === 'reset') return {answer, end: 'dropped'}
  return action.type === 'status' ? {answer: broken(action, requestId), end: 'answered'} : null
}

/** Stores the fault's answer under the key if it is `saved`. Otherwise, a failure before the effect frees the key. */
export const saveFault = (world: SimulatorState, fault: Fault | null, key: string, answer: Answer) => {
  if (fault?.action.type === 'status' && fault.action.saved) world.keys.keep(key, answer)
  else if (fault && isBefore(fault)) world.keys.forget(key)
}

const isBefore = ({action}: Fault) =>
  action.type === 'rateLimit' || ((action.type === 'status' || action.type === 'reset') && (action.when ?? 'before') === 'before')

const broken = ({status, body, shouldRetry}: FaultAction & {type: 'status'}, requestId: string): Answer => {
  const headers = retryHeader(shouldRetry)
  if (body === 'html') return {status, text: `<html><body><h1>${status}</h1></body></html>`, type: 'text/html', headers}
  if (body === 'bare') return {status, body: {message: 'Bad gateway'}, headers}
  return {status, body: {error: {type: 'api_error', message: `An unknown error occurred. (Request ${requestId})`}}, headers}
}

const limited = ({code = 'rate_limit', shouldRetry}: FaultAction & {type: 'rateLimit'}): Answer => ({
  status: 429,
  body: {error: {type: 'invalid_request_error', code, message: 'Request rate limit exceeded.'}},
  headers: retryHeader(shouldRetry),
})

const retryHeader = (shouldRetry: boolean | undefined): Record<string, string> =>
  shouldRetry === undefined ? {} : {'stripe-should-retry': String(shouldRetry)}

/** A rule for deliveries. The first matching rule with uses left applies. */
export type TrafficRule = {
  /** A glob for the event type, such as `customer.subscription.*`. */
  type?: string
  times?: number
  action:
    | 'drop'
    | 'duplicate'
    /** Sends the event twice, the second time with another event id. */
    | 'duplicate-with-new-id'
    /** Sends the event during the call that caused it. */
    | 'during'
    /** Delays the event by seconds of the stand-in's clock. */
    | {delay: number}
}

export const createTraffic = (seed: string) => {
  let rules: (TrafficRule & {left: number})[] = []
  let [isShuffled, isPaused, isTogether] = [false, false, false]
  const rank = (id: string) => createHash('sha256').update(`${seed}:${id}`).digest('hex')
  return {
    add: (rule: TrafficRule) => void rules.push({...rule, left: rule.times ?? 1}),
    clear: () => {
      rules = []
      isShuffled = isPaused = isTogether = false
    },
    take: (type: string): TrafficRule['action'] | null => {
      const rule = rules.find(one => one.left > 0 && matches(one.type ?? '**', type))
      if (!rule) return null
      rule.left -= 1
      return rule.action
    },
    /** Shuffles due deliveries; equal seeds give an equal order. */
    shuffle: (isOn: boolean) => void (isShuffled = isOn),
    order: (things: Thing[]) => (isShuffled ? things.toSorted((a, b) => (rank(a.id) < rank(b.id) ? -1 : 1)) : things),
    /** Sends due deliveries in parallel. By default, they are sent one after the other. */
    together: (isOn: boolean) => void (isTogether = isOn),
    isTogether: () => isTogether,
    /** Pauses or resumes all deliveries. */
    pause: (isOn: boolean) => void (isPaused = isOn),
    isPaused: () => isPaused,
  }
}

/** Whether the text matches the glob. `*` matches within a segment, `**` across segments; a slash or a dot ends a segment. */
export const matches = (glob: string, text: string): boolean => {
  const source = glob
    .split(/(\*\*|\*)/)
    .map(part => (part === '**' ? '.*' : part === '*' ? '[^/.]*' : part.replace(/[.+?^${}()|[\]\\]/g, '\\$&')))
    .join('')
  return new RegExp(`^${source}$`).test(text)
}
