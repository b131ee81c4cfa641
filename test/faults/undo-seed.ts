import type {ChildProcess} from 'node:child_process'
import {once} from 'node:events'
import {ok, readLog} from '../support/importing.ts'
import {prepareFiles} from '../support/lookups.ts'
import {endWorker, startWorker} from '../support/worker-spawn.ts'
import type {Ground} from './carried.ts'
import {untilOver} from './carried.ts'
import {openRandom, type Random} from './random.ts'
import {writeUndoCase} from './undo-case.ts'
import {compareStates, createBefore, editThird, expectState, readState} from './undo-oracle.ts'
import {addShares, type Share} from './wire-faults.ts'

export type UndoSeedReport = {says: string[]; did: {kills: number; faults: number; edits: number; records: number}}

/** The points at which workers die during the undo. */
const points = ['after_intent', 'after_send', 'before_settle'] as const
/** Seconds per thousand rows after which an import or an undo counts as stuck. */
const secondsPerThousand = 240
const settings = {CRM_SLOTS: '5'}

/**
 * Imports a file without faults, edits about a third of the records, and undoes the import under faults. Up to two workers die, answers to
 * restores and deletes are lost, the token expires and is not renewed at once, and the quota is exhausted. Compares the CRM field by field.
 */
export const runUndoSeed = async (ground: Ground, seed: number, rows: number): Promise<UndoSeedReport> => {
  const {here, org} = ground
  const dice = openRandom(seed)
  here.crm.clear()
  const laid = writeUndoCase(dice, `u${seed}-`, rows)
  createBefore(here, laid)
  const before = readState(here)
  here.crm.clock.advance(60_000)
  const seconds = Math.max(1, rows / 1_000) * secondsPerThousand
  const {path} = await prepareFiles(org, laid.files, laid.flows)
  const says: string[] = []
  const importing = startWorker(here.config, settings)
  const imported = await ok(org.call('POST', `${path}/runs`, {}), 202)
  const run = await untilOver(ground, `${path}/runs/${imported.run.id}`, seconds).finally(() => endWorker(importing))
  if (run.stop) says.push(`the import was stopped: ${run.stop.stopped}`)
  here.crm.clock.advance(60_000)
  const edits = editThird(here, dice)
  const edited = readState(here)
  here.crm.clock.advance(60_000)
  for (const fault of listFaults(dice)) here.crm.faults.add(fault)
  try {
    const begun = await ok(org.call('POST', `${path}/runs/${run.id}/undo`, {}), 202)
    const {undone, kills} = await undoUnderKills(ground, `${path}/runs/${begun.run.id}`, {dice, seconds})
    const faults = here.crm.faults.list().reduce((sum, {used}) => sum + used, 0)
    if (undone.stop) says.push(`the undo was stopped: ${undone.stop.stopped}`)
    says.push(...countErrors(undone, await readLog(org.call, `${path}/runs/${undone.id}`)))
    says.push(...compareStates(expectState({before, edited, edits}), readState(here)))
    return {says: says.map(line => `seed ${seed}: ${line}`), did: {kills, faults, edits: edits.size, records: edited.size}}
  } finally {
    here.crm.faults.clear()
  }
}

const undoUnderKills = async (ground: Ground, path: string, {dice, seconds}: {dice: Random; seconds: number}) => {
  const {config} = ground.here
  let kills = 0
  let worker: ChildProcess | null = null
  let isOver = false
  const kill = async () => {
    for (const most of [6, 4]) {
      worker = startWorker(config, {...settings, FAULT_POINT: `${dice.pick(points)}:${dice.between(1, most)}`})
      const [, signal] = await once(worker, 'exit')
      if (signal !== 'SIGKILL' || isOver) return
      kills++
    }
    worker = startWorker(config, settings)
  }
  const killing = kill()
  const undone = await untilOver(ground, path, seconds).finally(async () => {
    isOver = true
    if (worker) await endWorker(worker)
  })
  await killing
  return {undone, kills}
}

const lost: Share[] = [
  [0.25, {type: 'dropAfter'}],
  [0.1, {type: 'dropBefore'}],
  [0.1, {type: 'status5xxAfter', status: 502}],
  [0.1, {type: 'rateLimit'}],
]

/** Returns the faults of an undo. Each fault of a write occurs at most twice per module and method, so that most rows are answered in three sends. */
const listFaults = (dice: Random) => [
  ...['Accounts', 'Contacts', 'Orders'].flatMap(module =>
    ['PUT', 'DELETE'].flatMap(method => addShares(dice, {method, path: `/crm/v8/${module}`}, lost).map(fault => ({...fault, times: 2}))),
  ),
  {match: {path: '/crm/v8/**', nth: dice.between(3, 8)}, times: 1, action: {type: 'rateLimit', credits: 0} as const},
  {match: {path: '/crm/v8/**', nth: dice.between(9, 14)}, times: 1, action: 'expireToken' as const},
  {match: {path: '/oauth/v2/token'}, times: 1, action: 'tokenThrottle' as const},
]

/** The number of sends after which a row without an answer ends unanswered. */
const mostSends = 3

/** Returns a line for each module with refused rows, and one each if rows have two ends, or got no answer to fewer than three sends. */
const countErrors = ({counts}: any, log: any[]): string[] => {
  const bad = Object.entries<any>(counts).flatMap(([module, {refused}]) => (refused > 0 ? [`${module}: ${refused} rows were refused`] : []))
  const written = log.filter(({phase}) => phase === 'write')
  const nameOf = ({module, rowKey}: any) => `${module} ${rowKey}`
  const ends = written.filter(({outcome}) => outcome !== 'unanswered').map(nameOf)
  const ended = new Set(ends)
  if (ends.length > ended.size) bad.push(`${ends.length - ended.size} rows have two ends`)
  const lost = Map.groupBy(
    written.filter(entry => !ended.has(nameOf(entry))),
    nameOf,
  )
  const tooFew = [...lost.values()].filter(entries => entries.every(({attempt}) => attempt < mostSends))
  return tooFew.length > 0 ? [...bad, `${tooFew.length} rows got no answer, and were not sent ${mostSends} times`] : bad
}
