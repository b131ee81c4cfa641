import type {Instant} from './clock.ts'

/**
 * What goes wrong. `before`: nothing was done yet; `after`: the call was done, only its answer suffers. `late`: the connection is cut or stays
 * silent, and the call is done so many ms later. `twice`: the network delivers the request twice, and one of the answers. `wrongId`: an entry
 * names the record of another entry, or `id`. `clockSkew` is of one call, `clockJump` of the org from now on.
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
  | {type: 'answer'; status: number; body?: unknown; text?: string; headers?: Record<string, string>; when?: 'before' | 'after'}

export type FaultType = FaultAction['type']

/** Every part given must match. `nth` begins with that request; `share` meets so many of them by chance, the same ones for the same seed. */
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

/** An action may be given by its bare name, and several may be given at once. */
export type FaultSpec = {match?: FaultMatch; times?: number; action: FaultAction | FaultType | (FaultAction | FaultType)[]}

/** `used` times so far; `seen` counts the requests it matched, for `nth`. */
export type Fault = {id: number; match: FaultMatch; times: number; actions: FaultAction[]; seen: number; used: number; chance: () => number}

/** What a match looks at. */
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
  /** The first fault that matches and has times left. */
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
  answer: true,
}

const readActions = ({action}: FaultSpec): FaultAction[] =>
  (Array.isArray(action) ? action : [action]).map(one => {
    const read = (typeof one === 'string' ? {type: one} : one) as FaultAction
    if (!(read?.type in known)) throw new TypeError(`No such fault: ${JSON.stringify(one)}`)
    return read
  })

/** Without a path, what ails the token endpoint is met there, and everything else at the CRM. */
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

/** Numbers from 0 to 1, the same row of them for the same seed (mulberry32). */
const seeded = (seed: number) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** `*` within a segment, `**` over any. */
const globPattern = (glob: string) => {
  const source = glob
    .split(/(\*\*|\*)/)
    .map(part => (part === '**' ? '.*' : part === '*' ? '[^/]*' : part.replace(/[.+?^${}()|[\]\\]/g, '\\$&')))
    .join('')
  return new RegExp(`^${source}$`)
}
