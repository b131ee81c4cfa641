import {setTimeout as sleep} from 'node:timers/promises'
import {carryCase, environment, openGround, prepareCase} from './carried.ts'
import {writeCase} from './cases.ts'
import {standWorker} from './fleet.ts'
import {openOwnPooler} from './own-pooler.ts'
import {openOwnPostgres} from './own-postgres.ts'
import {openProbe} from './probe.ts'
import type {Scenario} from './scenario.ts'

/** Runs three imports through a PgBouncer in transaction mode: undisturbed, with a killed pooler, and with a restarted Postgres behind it. */
export const pooler: Scenario = {
  row: 'R22',
  fault: 'all processes share eight connections of a PgBouncer in transaction mode, which is killed; Postgres restarts behind it',
  goal: '503 within 5 s, automatic recovery within 10 s, no process dies, no acknowledged write is lost',
  program: 'pgbouncer',
  async play(stage) {
    const own = await openOwnPostgres(stage)
    const between = await openOwnPooler(stage, own.url)
    const here = await stage.open({workers: ['discovery'], environment: {...environment, DATABASE_URL: between.url}})
    const ground = await openGround(here)
    here.crm.setSwitches({latencyMs: 60})
    await Promise.all([standWorker(here, stage), standWorker(here, stage)])
    const probe = openProbe(ground.org)
    let [recoveredMs, written] = [0, 0]
    const killPooler = async () => {
      await between.restart()
      stage.did('killed poolers')
    }
    const restartPostgres = async () => {
      await own.restart('SIGQUIT')
      stage.did('immediate restarts')
    }
    for (const [at, act] of [async () => {}, killPooler, restartPostgres].entries()) {
      const prepared = await prepareCase(ground, writeCase(stage.asked.seed + at, stage.dice, 300))
      const carried = await carryCase(ground, prepared, async () => {
        await sleep(stage.dice.between(200, 800))
        await act()
        recoveredMs = Math.max(recoveredMs, await probe.recovers())
      })
      stage.judged(await carried.judge())
      written += carried.run.rowsWritten
    }
    stage.figure('rows written', written, {least: 1})
    stage.figure('ms until it was well again', Math.round(recoveredMs), {most: 10_000})
    await probe.end(here, stage, {longestMs: 5_000})
  },
}
