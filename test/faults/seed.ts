import {type Org, ok} from '../support/importing.ts'
import {carryCase, type Ground, prepareCase} from './carried.ts'
import {writeCase} from './cases.ts'
import {addAll, type Errors} from './judge.ts'
import {openRandom} from './random.ts'
import {breakStorage} from './storage.ts'
import {openViolence, type WakeInTimeInput} from './violence.ts'
import {addFaults} from './wire-faults.ts'

export type SeedReport = {seed: number; name: string; rows: number; errors: Errors; says: string[]; seconds: number; done: WakeInTimeInput}

/** `points`: where workers die or fall asleep, instead of all faults of processes that the seed would choose. */
type RunSeedInput = {rows: number; points?: string[] | undefined; logged?: (line: string) => void}

/** Runs one import under random faults: two workers that die, sleep and lose their connections, and a CRM that fails on every kind of call. */
export const runSeed = async (ground: Ground, seed: number, {rows: count, points, logged}: RunSeedInput): Promise<SeedReport> => {
  const {here, org} = ground
  const began = performance.now()
  const dice = openRandom(seed)
  const laid = writeCase(seed, dice, count)
  const prepared = await prepareCase(ground, laid)
  here.crm.setSwitches({latencyMs: dice.between(20, 100)})
  for (const fault of addFaults(dice, {parts: laid.parts, timeoutMs: here.config.CRM_TIMEOUT_SECONDS * 1_000})) here.crm.faults.add(fault)
  const violence = await openViolence(here, dice, {points, logged})
  const breaksStorage = dice.chance(0.3)
  // A run with before images waits for storage, so the run would not end while storage is broken.
  await setUndo(org, breaksStorage ? 'off' : null)
  const broken: {repair?: () => Promise<void>} = {}
  try {
    const carried = await carryCase(ground, prepared, async ({run, over}) => {
      if (breaksStorage) broken.repair = await breakStorage(here, {org: org.org, run})
      await violence.rage(over)
    })
    const verdicts = [await carried.judge()]
    if (broken.repair) {
      await broken.repair()
      verdicts.push(await carried.judge())
    }
    const errors = addAll(verdicts.map(({errors}) => errors))
    errors.meterErrors += violence.meterAlarms()
    const rows = laid.parts.reduce((sum, {tags}) => sum + tags.length, 0)
    const seconds = (performance.now() - began) / 1_000
    return {seed, name: laid.name, rows, errors, says: verdicts.flatMap(({says}) => says), seconds, done: violence.done}
  } finally {
    await violence.end()
    here.crm.faults.clear()
    here.crm.setSwitches({latencyMs: 0})
  }
}

const setUndo = (org: Org, undo: 'off' | null) => ok(org.call('PATCH', `/orgs/${org.org}/config/settings`, {undo}), 200)
