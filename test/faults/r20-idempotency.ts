import {CHAOS_FILES} from './chaos-files.ts'
import {chaosEnvironment, openChaosRuns} from './chaos-lane.ts'
import {standWorker} from './fleet.ts'
import {cellsAtOnce, listCells, playCells, timeoutSeconds} from './r19-chaos.ts'
import type {Scenario} from './scenario.ts'

/** The files without a unique field. Only the idempotency field distinguishes their records. */
const files = CHAOS_FILES.filter(({name}) => ['nothing unique', 'matched by e-mail', 'duplicate keys', 'two equal imports'].includes(name))

/** Returns the cells of the chaos scenario whose file has no unique field. */
export const listIdempotencyCells = (asked: Parameters<typeof listCells>[0]) => listCells(asked).filter(({file}) => files.includes(file))

/** Runs the faults of R19 on leads with an idempotency field: every fault with every file without a unique field and every seed. */
export const idempotency: Scenario = {
  row: 'R20',
  fault: 'the faults of R19, also requests that the network delivers twice, on files without a unique field',
  goal: 'with an idempotency field: no record double, none unreported, and no row whose record may be another',
  async play(stage) {
    const environment = chaosEnvironment(timeoutSeconds, 2 * cellsAtOnce)
    const here = await stage.open({workers: ['discovery'], environment, crm: {journal: {limit: 5_000}}})
    await standWorker(here, stage, environment)
    await playCells(stage, {cells: listIdempotencyCells(stage.asked), nextLane: openChaosRuns(here, {isIdempotent: true})})
  },
}
