import {isDeepStrictEqual} from 'node:util'
import {arm, assertSeen, clear} from '../journeys/fault-cells.ts'
import {aimOf, ask, type FaultDoorPlace, letGo, openFaultOperations, prepare} from '../journeys/fault-operations.ts'
import {refusals, wholes} from '../journeys/fault-refusals.ts'
import {type Door, missingAnswers, type Row} from '../journeys/fault-table.ts'
import {expectedOf} from '../journeys/fault-verdict.ts'
import {carryCase, environment, openGround, prepareCase} from './carried.ts'
import {LAYS, writeCase} from './cases.ts'
import {oddAnswers} from './odd-answers.ts'
import {type OddWire, oddWires} from './odd-wire.ts'
import {openRawCrm} from './raw-crm.ts'
import type {Scenario, Stage} from './scenario.ts'
import {addShares, type Share} from './wire-faults.ts'

type RawCrm = Awaited<ReturnType<typeof openRawCrm>>

/** The routes that this scenario tests; tests in test/journeys cover the others. */
const writing: Door[] = ['create', 'update', 'rows']
const rows = 300

/** Malformed or incomplete answers. Together they hit about 44 % of an import's writes. */
const garbage: Share[] = [
  [0.08, {type: 'nonJson'}],
  [0.08, {type: 'truncateAfter'}],
  [0.06, {type: 'emptyBody'}],
  [0.04, {type: 'emptyBody', status: 204}],
  [0.08, {type: 'successNoId', index: 3}],
  [0.06, {type: 'shortData', by: 2}],
  [0.1, {type: 'refuse', index: [1, 5], code: 'RECORD_LOCKED'}],
  [0.05, {type: 'answer', status: 200, body: {data: []}, when: 'after'}],
]

/** Gives every answer of the tables to a write of the record routes, then runs imports under random faults of `garbage`. */
export const crmGarbage: Scenario = {
  row: 'R4',
  fault: 'the CRM answers 200 with garbage, half bodies, wrong lengths, no ids, mixed entries, and reordered entries',
  goal: 'each record is reported as done, declined or unanswered as the table says, in at least sixty cases',
  async play(stage) {
    const raw = await openRawCrm(stage.begun)
    const world = await stage.open({
      workers: ['discovery', 'writes', 'imports'],
      environment: {...environment, CRM_TIMEOUT_SECONDS: '3'},
      crm: {publicUrl: raw.url},
    })
    raw.lead(`http://127.0.0.1:${world.crm.port}`)
    const places = (await openFaultOperations(world)).filter(({door}) => writing.includes(door))
    await playTable(stage, places, raw)
    await carryThrough(stage, world)
  },
}

const playTable = async (stage: Stage, places: FaultDoorPlace[], raw: RawCrm) => {
  const table: (Row & {wire?: OddWire})[] = [
    ...missingAnswers.filter(({fault}) => /^[cfghis]/.test(fault)),
    ...refusals,
    ...wholes,
    ...oddAnswers,
    ...oddWires.map(wire => ({fault: wire.fault, faults: [], create: wire.told(201), update: wire.told(200), does: true, wire})),
  ]
  let right = 0
  for (const row of table) if (await playRow(stage, row, places, raw)) right++
  stage.figure('cases', table.length, {least: 60})
  stage.figure('told right', right, {least: table.length})
}

const playRow = async (stage: Stage, {wire, ...row}: Row & {wire?: OddWire}, places: FaultDoorPlace[], raw: RawCrm): Promise<boolean> => {
  await clear(places[0]!)
  const mine = places.filter(({door}) => expectedOf(row, door))
  const requests = await Promise.all(mine.map(place => prepare(place)))
  if (row.switches) mine[0]!.world.crm.setSwitches(row.switches)
  for (const request of requests) {
    if (wire) raw.arm(aimOf(request), wire.raw)
    else arm(row, request)
  }
  const answers = await Promise.all(requests.map(ask))
  await letGo(mine[0]!.world)
  stage.did('answers', answers.length)
  let isRight = true
  const deepEqual = (seen: unknown, wanted: unknown) => {
    isRight = isDeepStrictEqual(seen, wanted)
    stage.expect(isRight, `${row.fault}: ${JSON.stringify(seen)} instead of ${JSON.stringify(wanted)}`)
    return isRight
  }
  await assertSeen({deepEqual: Object.assign(deepEqual, {skip: () => {}})} as never, row, requests, answers)
  return isRight
}

const carryThrough = async (stage: Stage, world: FaultDoorPlace['world']) => {
  const ground = await openGround(world)
  for (let seed = 0; seed < LAYS; seed++) {
    const laid = writeCase(seed, stage.dice, rows)
    const prepared = await prepareCase(ground, laid)
    const paths = [...new Set(laid.parts.map(({module}) => `/crm/v8/${module}`))]
    for (const path of paths)
      for (const method of ['POST', 'PUT']) for (const fault of addShares(stage.dice, {method, path}, garbage)) world.crm.faults.add(fault)
    const carried = await carryCase(ground, prepared)
    stage.did(
      'answers of imports',
      world.crm.faults.list().reduce((sum, {used}) => sum + used, 0),
    )
    world.crm.faults.clear()
    const {errors, says} = await carried.judge()
    stage.judged({errors, says: says.map(line => `${laid.name}: ${line}`)})
  }
}
