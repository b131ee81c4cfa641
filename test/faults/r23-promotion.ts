import {environment} from './carried.ts'
import {openFailoverCluster} from './own-replica.ts'
import {playImports} from './play-imports.ts'
import type {Scenario} from './scenario.ts'

/** Loses the primary Postgres during an import and promotes its synchronous replica. A second import then runs on the new primary. */
export const promotion: Scenario = {
  row: 'R23',
  fault: 'the primary Postgres fails during an import, and its synchronous streaming replica is promoted',
  goal: 'recovery within 30 s, no process dies, no acknowledged write is lost, no row lost or written twice',
  async play(stage) {
    const cluster = await openFailoverCluster(stage)
    const here = await stage.open({workers: ['discovery'], environment: {...environment, DATABASE_URL: cluster.url}})
    const promote = async () => {
      await cluster.failOver()
      stage.did('promotions')
    }
    await playImports(stage, here, {faults: [promote, async () => {}], recoveryMs: 30_000, answerMs: 30_000})
  },
}
