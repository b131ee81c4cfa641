import type {FaultAction, FaultSpec} from '../simulators/crm/faults.ts'
import type {Part} from './cases.ts'
import type {Dice} from './dice.ts'

const always = 1_000_000

/** So that the answer comes when nobody waits for it any more. `timeoutMs`: how long the service waits for the CRM. */
const lateMs = (timeoutMs: number) => timeoutMs + 300

/** So many of the calls meet it, by chance. */
export type Share = [share: number, action: FaultAction]

/**
 * Of every hundred writes a quarter goes wrong, in every way it may; of the other calls fewer, and of creates that nothing unique tells: after
 * a silence they go ten by ten, so there are ten times as many of them.
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

/** Those shares of the calls that match, the same ones for the same dice and the same order of calls. */
export const addShares = (dice: Dice, match: {method: string; path: string}, shares: Share[]): FaultSpec[] =>
  shares.map(([share, action]) => ({
    match: {...match, share, seed: dice.between(1, 2 ** 31)},
    // Each cuts the slots of the CRM's org, which grow back one in ten seconds.
    times: action.type === 'rateLimit' ? 1 : always,
    action,
  }))

/** Faults of every kind of call, met by chance: the same ones for the same seed and the same order of calls. */
export const layFaults = (dice: Dice, {parts, timeoutMs}: {parts: Part[]; timeoutMs: number}): FaultSpec[] => {
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
