import type {FaultAction, FaultSpec} from '../simulators/crm/faults.ts'
import type {Switches} from '../simulators/crm/switches.ts'
import type {Random} from './random.ts'

/** The org and modules in which faults occur. `second`: how many real seconds one second in the name of a fault lasts. */
type Scene = {dice: Random; org: string; modules: string[]; second: number}
export type ChaosFault = {name: string; switches?(second: number): Partial<Switches>; lay(scene: Scene): FaultSpec[]}

type Share = [share: number, times: number, action: FaultAction]

const seedOf = (dice: Random) => dice.between(1, 2 ** 31)

/** Returns the given faults for the creates and updates of every module. Each fault hits a random share of the requests. */
const ofWrites = ({dice, org, modules}: Scene, shares: Share[]): FaultSpec[] =>
  modules.flatMap(module =>
    ['POST', 'PUT'].flatMap(method =>
      shares.map(([share, times, action]) => ({match: {org, method, path: `/crm/v8/${module}`, share, seed: seedOf(dice)}, times, action})),
    ),
  )

/** Returns faults that lose the answers to writes. The CRM executes most of these writes. */
const losses = (scene: Scene) =>
  ofWrites(scene, [
    [0.25, 2, {type: 'nonJson'}],
    [0.2, 2, {type: 'dropAfter'}],
    [0.15, 1, {type: 'truncateAfter'}],
    [0.15, 2, {type: 'dropBefore'}],
    [0.1, 1, {type: 'status5xxAfter', status: 502}],
  ])

const lagging = (seconds: number): ChaosFault => ({
  name: `COQL lag ${seconds} s`,
  switches: second => ({coqlLagSeconds: seconds * second, searchLagSeconds: seconds * second}),
  lay: losses,
})

const arrivingLate = (seconds: number): ChaosFault => ({
  name: `arrives ${seconds} s late`,
  lay: scene => ofWrites(scene, [[0.4, 3, {type: 'late', ms: seconds * 1_000 * scene.second, end: scene.dice.pick(['cut', 'silent'])}]]),
})

const delivered = (answer: 'first' | 'second'): ChaosFault => ({
  name: `delivered twice, ${answer} answer`,
  lay: scene => ofWrites(scene, [[0.5, 1_000, {type: 'twice', answer}]]),
})

/**
 * All faults of the chaos scenario. Their seconds scale with the time-outs of the service. Answers with reordered items are left out: only the
 * order ties an item to its request, so no client can notice.
 */
export const CHAOS_FAULTS: readonly ChaosFault[] = [
  lagging(0),
  lagging(10),
  lagging(30),
  {
    name: 'COQL empty',
    lay: scene => [
      ...losses(scene),
      {
        match: {org: scene.org, path: '/crm/v8/coql', share: 0.6, seed: seedOf(scene.dice)},
        times: 1_000,
        action: {type: 'emptyBody', status: 204},
      },
    ],
  },
  arrivingLate(7),
  arrivingLate(20),
  delivered('first'),
  delivered('second'),
  {
    name: 'short answers',
    lay: scene =>
      ofWrites(scene, [[0.5, 4, {type: 'shortData', by: scene.dice.between(1, 3), at: scene.dice.pick(['first', 'middle', 'last'])}]]),
  },
  {
    name: 'wrong ids',
    lay: scene => ofWrites(scene, [[0.5, 3, {type: 'wrongId', index: scene.dice.between(1, 5), of: 0}]]),
  },
  {
    name: 'clock jumps',
    lay: scene => [
      ...[3_600, -3_600, 3_600, -3_600].map(
        (seconds): FaultSpec => ({
          match: {org: scene.org, method: 'POST', path: '/crm/**', share: 0.1, seed: seedOf(scene.dice)},
          action: {type: 'clockJump', seconds},
        }),
      ),
      ...losses(scene),
    ],
  },
]
