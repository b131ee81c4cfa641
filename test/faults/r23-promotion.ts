import {setTimeout as sleep} from 'node:timers/promises'
import {carryCase, environment, openGround, prepareCase} from './carried.ts'
import {writeCase} from './cases.ts'
import {standWorker} from './fleet.ts'
import {openFailoverCluster} from './own-replica.ts'
import {openProbe} from './probe.ts'
import type {Scenario} from './scenario.ts'

/** Loses the primary Postgres during an import and promotes its synchronous replica. A second import then runs on the new primary. */
export const promotion: Scenario = {
  row: 'R23',
  fault: 'the primary Postgres fails during an import, and its synchronous streaming replica is promoted',
  goal: 'recovery within 30 s, no process dies, no acknowledged write is lost, no row lost or written twice',
  async play(stage) {
    const pair = await openFailoverCluster(stage)
    const here = await stage.open({workers: ['discovery'], environment: {...environment, DATABASE_URL: pair.url}})
    const ground = await openGround(here)
    here.crm.setSwitches({latencyMs: 60})
    await Promise.all([standWorker(here, stage), standWorker(here, stage)])
    const probe = openProbe(ground.org)
    let [recoveredMs, written] = [0, 0]
    const promote = async () => {
      await sleep(stage.dice.between(200, 800))
      await pair.failOver()
      stage.did('promotions')
      recoveredMs = await probe.recovers()
    }
    for (const [at, act] of [promote, async () => {}].entries()) {
      const prepared = await prepareCase(ground, writeCase(stage.asked.seed + at, stage.dice, 300))
      const carried = await carryCase(ground, prepared, act)
      stage.judged(await carried.judge())
      written += carried.run.rowsWritten
    }
    stage.figure('rows written', written, {least: 1})
    stage.figure('ms until it was well again', Math.round(recoveredMs), {most: 30_000})
    await probe.end(here, stage, {longestMs: 30_000})
  },
}
