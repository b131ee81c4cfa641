import {environment, openGround} from './carried.ts'
import {ERRORS} from './judge.ts'
import type {Scenario, Stage} from './scenario.ts'
import {runSeed} from './seed.ts'

/** Runs imports under faults that a seed decides. R13, not this scenario, times takeovers, because leases here last one second. */
export const violence: Scenario = {
  row: 'R1',
  fault: 'workers die, sleep and lose their connections at named and random moments, while the CRM fails on every kind of call',
  goal: 'nothing is lost, created twice, unreported or miscounted',
  async play(stage) {
    const {asked} = stage
    const ground = await openGround(await stage.open({workers: ['discovery'], environment}))
    const failed: number[] = []
    let rows = 0
    for (let seed = asked.seed; seed < asked.seed + asked.seeds; seed++) {
      const held = await playSeed(stage, () => runSeed(ground, seed, {...asked, logged: stage.logged}), seed)
      if (held === null) failed.push(seed)
      else rows += held
    }
    stage.figure('seeds', asked.seeds - failed.length, {least: asked.seeds})
    stage.figure('rows', rows)
    stage.expect(failed.length === 0, `repeat one with: npm run faults -- --only R1 --seeds 1 --seed ${failed[0]}`)
  },
}

/** Returns the number of rows imported, or null if the seed had errors or threw. */
const playSeed = async (stage: Stage, run: () => ReturnType<typeof runSeed>, seed: number): Promise<number | null> => {
  try {
    const {name, rows, errors, says, done} = await run()
    for (const [what, times] of Object.entries(done)) stage.did(what, times)
    stage.judged({errors, says: says.map(line => `seed ${seed}, ${name}: ${line}`)})
    return ERRORS.some(kind => errors[kind]) ? null : rows
  } catch (error) {
    stage.expect(false, `seed ${seed}: ${error instanceof Error ? error.stack : error}`)
    return null
  }
}
