import {environment, openGround} from './carried.ts'
import type {Scenario} from './scenario.ts'
import {runUndoSeed} from './undo-seed.ts'

/** Maximum number of seeds that this scenario runs. More would repeat the same faults. */
const mostSeeds = 6

/** Undoes imports of all kinds after about a third of the records were edited. `--rows 20000` gives a long run. */
export const undo: Scenario = {
  row: 'R21',
  fault: 'workers die during an undo, answers to restores and deletes are lost, the token expires, the quota is spent',
  goal: 'the CRM holds what it held before the import, with all edits of people, field by field',
  async play(stage) {
    const ground = await openGround(await stage.open({workers: ['discovery'], environment}))
    for (let n = 0; n < Math.min(stage.asked.seeds, mostSeeds); n++) {
      const {says, did} = await runUndoSeed(ground, stage.asked.seed + n, stage.asked.rows)
      for (const [what, times] of Object.entries(did)) stage.did(what, times)
      stage.did('seeds')
      for (const line of says) stage.expect(false, line)
    }
  },
}
