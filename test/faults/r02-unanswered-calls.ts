import {carryCase, environment, openGround, prepareCase} from './carried.ts'
import {LAYS, writeCase} from './cases.ts'
import type {Random} from './random.ts'
import type {Scenario} from './scenario.ts'
import {addShares, type Share} from './wire-faults.ts'

const rows = 1_200

/** Faults that leave the result of a write unclear. Each is drawn separately. Together they hit 38 % of the writes, against 13 % in R1. */
const ofWrites: Share[] = [
  [0.1, {type: 'dropBefore'}],
  [0.12, {type: 'dropAfter'}],
  [0.06, {type: 'status5xxBefore', status: 500}],
  [0.02, {type: 'status5xxBefore', status: 503, html: true}],
  [0.06, {type: 'status5xxAfter', status: 500}],
  [0.1, {type: 'status5xxAfter', status: 502}],
]

const ofReads: Share[] = [
  [0.04, {type: 'dropBefore'}],
  [0.04, {type: 'dropAfter'}],
  [0.04, {type: 'status5xxBefore', status: 500}],
  [0.04, {type: 'status5xxAfter', status: 502}],
]

const layShares = (dice: Random, modules: string[]) => [
  ...addShares(dice, {method: 'POST', path: '/crm/v8/coql'}, ofReads),
  ...addShares(dice, {method: 'GET', path: '/crm/v8/*'}, ofReads),
  ...modules.flatMap(module => ['POST', 'PUT'].flatMap(method => addShares(dice, {method, path: `/crm/v8/${module}`}, ofWrites))),
]

/** Runs every kind of import of `cases.ts` with workers that are not disturbed. */
export const crmNoAnswers: Scenario = {
  row: 'R2',
  fault: 'the CRM drops calls before and after executing them, and answers 500, 502 and 503, on four writes of ten',
  goal: 'every record is reported, and none exists twice where a field is unique',
  async play(stage) {
    const ground = await openGround(await stage.open({workers: ['discovery', 'imports'], environment}))
    const {crm} = ground.here
    let twice = 0
    let made = 0
    for (let seed = stage.asked.seed; seed < stage.asked.seed + LAYS; seed++) {
      const laid = writeCase(seed, stage.dice, rows)
      const prepared = await prepareCase(ground, laid)
      for (const fault of layShares(stage.dice, [...new Set(laid.parts.map(({module}) => module))])) crm.faults.add(fault)
      const carried = await carryCase(ground, prepared)
      for (const {actions, used} of crm.faults.list()) stage.did(`${actions[0]!.type}`, used)
      crm.faults.clear()
      const {errors, says} = await carried.judge()
      stage.judged({errors, says: says.map(line => `seed ${seed}, ${laid.name}: ${line}`)})
      twice += errors.duplicated
      made += laid.parts.reduce((sum, {module}) => sum + crm.count('example', module), 0)
    }
    stage.figure('records', made)
    stage.figure('twice of a unique value', twice, {most: 0})
  },
}
