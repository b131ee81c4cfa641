import type {FaultAction, FaultSpec} from '../simulators/crm/faults.ts'
import type {Part} from './cases.ts'
import type {Random} from './random.ts'

const always = 1_000_000

/** Returns a delay in ms after which the service no longer waits for the answer. `timeoutMs`: the service's time-out for the CRM. */
const lateMs = (timeoutMs: number) => timeoutMs + 300

/** A fault, and the random share of calls that it hits. */
export type Share = [share: number, action: FaultAction]

/**
 * Faults of writes, which hit about a quarter of them. In modules without a unique field, each share is a third: after a missing answer their
 * rows are sent ten by ten, so there are ten times as many calls.
 */
const ofWrites = (timeoutMs: number): Share[] => [
  [0.03, {type: 'dropBefore'}],
  [0.05, {type: 'dropAfter'}],
  [0.02, {type: 'status5xxBefore', status: 500}],
  [0.03, {type: 'status5xxAfter', status: 502}],
  [0.02, {type: 'truncateAfter'}],
  [0.02, {type: 'nonJson'}],
  [0.02, {type: 'emptyBody'}],
  [0.02, {type: 'successNoId', index: 3}],
  [0.02, {type: 'shortData', by: 2}],
  [0.02, {type: 'refuse', index: [1, 5], code: 'RECORD_LOCKED'}],
  [0.03, {type: 'rateLimit'}],
  [0.01, {type: 'slow', ms: lateMs(timeoutMs), when: 'before'}],
  [0.01, {type: 'slow', ms: lateMs(timeoutMs), when: 'after'}],
]

const ofReads = (timeoutMs: number): Share[] => [
  [0.02, {type: 'dropBefore'}],
  [0.02, {type: 'dropAfter'}],
  [0.02, {type: 'status5xxBefore', status: 503}],
  [0.02, {type: 'truncateAfter'}],
  [0.01, {type: 'nonJson'}],
  [0.02, {type: 'rateLimit'}],
  [0.01, {type: 'slow', ms: lateMs(timeoutMs), when: 'before'}],
]

/** Returns faults for these shares of the matching calls. The same dice and order of calls give the same faults. */
export const addShares = (dice: Random, match: {method: string; path: string}, shares: Share[]): FaultSpec[] =>
  shares.map(([share, action]) => ({
    match: {...match, share, seed: dice.between(1, 2 ** 31)},
    // A rate limit occurs once, because it reduces the slots of the CRM org. Afterwards, the slots grow by only one every ten seconds.
    times: action.type === 'rateLimit' ? 1 : always,
    action,
  }))

/** Returns random faults for every kind of call. The same seed and order of calls give the same faults. */
export const addFaults = (dice: Random, {parts, timeoutMs}: {parts: Part[]; timeoutMs: number}): FaultSpec[] => {
  const add = (method: string, path: string, shares: Share[]) => addShares(dice, {method, path}, shares)
  return [
    ...add('POST', '/crm/v8/coql', ofReads(timeoutMs)),
    ...add('GET', '/crm/v8/*', ofReads(timeoutMs)),
    ...parts.flatMap(({module, unique}) =>
      ['POST', 'PUT'].flatMap(method =>
        add(
          method,
          `/crm/v8/${module}`,
          ofWrites(timeoutMs).map(([share, action]) => [unique ? share : share / 3, action]),
        ),
      ),
    ),
    {match: {path: `/crm/v8/${parts[0]!.module}`, nth: dice.between(2, 20)}, times: 1, action: 'expireToken'},
    {match: {path: '/oauth/v2/token', share: 0.2, seed: dice.between(1, 2 ** 31)}, times: 2, action: {type: 'tokenDown', drop: true}},
  ]
}
