import type {Instant} from './clock.ts'

/**
 * The effect of a fault. `before`: the call has no effect. `after`: the call takes effect and only its answer is changed.
 * `late`: the connection is cut or gets no answer; the call takes effect `ms` later. `twice`: the request executes twice, and one answer is
 * sent.
 * `wrongId`: an entry names the record of the entry `of`, or `id`. `clockSkew` affects one call, `clockJump` the org from then on.
 * `bulkFailure`, `bulkStuck`: the created job fails, or never ends. `bulkSkipped`, `bulkUnprocessed`: all rows, or the last ones, are not
 * executed.
 * `brokenZip`: the downloaded file is unreadable. `bulkResult`: its rows are changed. `resultHost`: the result is at another host.
 */
export type FaultAction =
  | {type: 'dropBefore'}
  | {type: 'dropAfter'}
  | {type: 'truncateAfter'}
  | {type: 'status5xxBefore'; status?: number; html?: boolean; retryAfter?: number | string}
  | {type: 'status5xxAfter'; status?: number; html?: boolean; retryAfter?: number | string}
  | {type: 'nonJson'; status?: number}
  | {type: 'emptyBody'; status?: 200 | 201 | 204}
  | {type: 'successNoId'; index?: number}
  | {type: 'shortData'; by?: number; at?: 'first' | 'middle' | 'last'}
  | {type: 'wrongId'; index?: number; of?: number; id?: string}
  | {type: 'shuffleData'}
  | {type: 'refuse'; index?: number | number[]; code?: string; details?: Record<string, unknown>; message?: string}
  | {type: 'rateLimit'; retryAfter?: number | string; credits?: number; legacy?: boolean; message?: string}
  | {type: 'allowanceSpent'; until?: Instant; forSeconds?: number}
  | {type: 'expireToken'}
  | {type: 'revokeGrant'}
  | {type: 'tokenThrottle'}
  | {type: 'tokenDown'; status?: number; drop?: boolean}
  | {type: 'slow'; ms: number; when?: 'before' | 'after'}
  | {type: 'hold'; when?: 'before' | 'after'}
  | {type: 'redirect'; to?: string; when?: 'before' | 'after'}
  | {type: 'foreignCreate'; module: string; record: Record<string, unknown>; user?: string; org?: string; when?: 'before' | 'after'}
  | {type: 'late'; ms: number; end?: 'cut' | 'silent'}
  | {type: 'twice'; answer?: 'first' | 'second'}
  | {type: 'clockSkew'; seconds: number}
  | {type: 'clockJump'; seconds: number}
  | {type: 'bulkFailure'}
  | {type: 'bulkStuck'}
  | {type: 'bulkSkipped'}
  | {type: 'bulkUnprocessed'; rows: number}
  | {type: 'bulkResult'; change: 'reversed' | 'short' | 'doubled' | 'gone'}
  | {type: 'resultHost'; origin: string}
  | {type: 'brokenZip'; how?: 'truncated' | 'checksum' | 'text'}
  | {type: 'answer'; status: number; body?: unknown; text?: string; headers?: Record<string, string>; when?: 'before' | 'after'}

export type FaultType = FaultAction['type']

/**
 * Which requests a fault affects: those that match every given part. `nth`: the number of the first affected match. `share`: the
 * probability from 0 to 1 that a match is affected; equal seeds give equal choices.
 */
export type FaultMatch = {
  method?: string
  path?: string
  module?: string
  client?: string
  org?: string
  user?: string
  nth?: number
  share?: number
  seed?: number
}

/** A fault to add. `times`: how often it applies, by default once. An action may be a bare name or a list. */
export type FaultSpec = {match?: FaultMatch; times?: number; action: FaultAction | FaultType | (FaultAction | FaultType)[]}

/** An added fault. `used`: how often it applied; `seen`: how many requests matched, for `nth`. */
export type Fault = {id: number; match: FaultMatch; times: number; actions: FaultAction[]; seen: number; used: number; chance: () => number}

export type Target = {
  method: string
  path: string
  module: string | undefined
  client: string | undefined
  org: string | undefined
  user: string | undefined
}

export type Faults = {
  add: (spec: FaultSpec) => number
  list: () => Fault[]
  remove: (id: number) => boolean
  clear: () => void
  /** Returns the first fault that applies to the request, and counts the use; null without one. */
  take: (target: () => Target) => Fault | null
}

export const createFaults = (): Faults => {
  let faults: Fault[] = []
  let last = 0
  return {
    add: spec => {
      const actions = readActions(spec)
      const match = withDefaults(spec.match ?? {}, actions)
      faults.push({id: (last += 1), match, times: spec.times ?? 1, actions, seen: 0, used: 0, chance: seeded(match.seed ?? last)})
      return last
    },
    list: () => faults.map(fault => ({...fault})),
    remove: id => {
      const before = faults.length
      faults = faults.filter(fault => fault.id !== id)
      return faults.length < before
    },
    clear: () => {
      faults = []
    },
    take: targetOf => {
      if (faults.length === 0) return null
      const target = targetOf()
      for (const fault of faults) {
        if (fault.used >= fault.times || !isMatch(fault.match, target)) continue
        fault.seen += 1
        if (fault.seen < (fault.match.nth ?? 1)) continue
        if (fault.match.share !== undefined && fault.chance() >= fault.match.share) continue
        fault.used += 1
        return fault
      }
      return null
    },
  }
}

export const actionOf = <T extends FaultType>(fault: Fault | null, type: T): Extract<FaultAction, {type: T}> | undefined =>
  fault?.actions.find((action): action is Extract<FaultAction, {type: T}> => action.type === type)

const known: Record<FaultType, true> = {
  dropBefore: true,
  dropAfter: true,
  truncateAfter: true,
  status5xxBefore: true,
  status5xxAfter: true,
  nonJson: true,
  emptyBody: true,
  successNoId: true,
  shortData: true,
  wrongId: true,
  shuffleData: true,
  refuse: true,
  rateLimit: true,
  allowanceSpent: true,
  expireToken: true,
  revokeGrant: true,
  tokenThrottle: true,
  tokenDown: true,
  slow: true,
  hold: true,
  redirect: true,
  foreignCreate: true,
  late: true,
  twice: true,
  clockSkew: true,
  clockJump: true,
  bulkFailure: true,
  bulkStuck: true,
  bulkSkipped: true,
  bulkUnprocessed: true,
  bulkResult: true,
  resultHost: true,
  brokenZip: true,
  answer: true,
}

const readActions = ({action}: FaultSpec): FaultAction[] =>
  (Array.isArray(action) ? action : [action]).map(one => {
    const read = (typeof one === 'string' ? {type: one} : one) as FaultAction
    if (!(read?.type in known)) throw new TypeError(`No such fault: ${JSON.stringify(one)}`)
    return read
  })

/** Adds the path if none is given: token faults apply at the token endpoint, all others at the CRM. */
const withDefaults = (match: FaultMatch, actions: FaultAction[]): FaultMatch => {
  if (match.path !== undefined) return match
  const isToken = actions.some(({type}) => type === 'tokenThrottle' || type === 'tokenDown')
  return {...match, path: isToken ? '/oauth/v2/token' : '/crm/**'}
}

const isMatch = (match: FaultMatch, target: Target): boolean =>
  (match.method === undefined || match.method.toUpperCase() === target.method) &&
  (match.path === undefined || globPattern(match.path).test(target.path)) &&
  (match.module === undefined || match.module === target.module) &&
  (match.client === undefined || match.client === target.client) &&
  (match.org === undefined || match.org === target.org) &&
  (match.user === undefined || match.user === target.user)

/** Returns a generator of pseudo-random numbers from 0 to 1, equal for equal seeds (mulberry32). */
const seeded = (seed: number) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Converts a glob to a pattern: `*` matches within a segment, `**` across segments. */
const globPattern = (glob: string) => {
  const source = glob
    .split(/(\*\*|\*)/)
    .map(part => (part === '**' ? '.*' : part === '*' ? '[^/]*' : part.replace(/[.+?^${}()|[\]\\]/g, '\\$&')))
    .join('')
  return new RegExp(`^${source}$`)
}
