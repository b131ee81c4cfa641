import {setTimeout as sleep} from 'node:timers/promises'
import {sql} from '../../sql/database.ts'
import {carryCase, environment, openGround, prepareCase} from './carried.ts'
import {writeCase} from './cases.ts'
import {standWorker} from './fleet.ts'
import {openOwnPostgres} from './own-postgres.ts'
import {openProbe} from './probe.ts'
import type {Scenario} from './scenario.ts'

const storms = 40

/** Plays three imports with concurrent writes through the API. Each meets another kind of Postgres failure. */
export const postgres: Scenario = {
  row: 'R5',
  fault: 'Postgres restarts, cleanly and as after a power failure, and all its connections are terminated repeatedly',
  goal: '503 within 5 s, automatic recovery within 5 s, no process dies, no acknowledged write is lost',
  async play(stage) {
    const own = await openOwnPostgres(stage)
    const here = await stage.open({workers: ['discovery'], environment: {...environment, DATABASE_URL: own.url}})
    const ground = await openGround(here)
    here.crm.setSwitches({latencyMs: 60})
    await Promise.all([standWorker(here, stage), standWorker(here, stage)])
    const probe = openProbe(ground.org)
    let [recoveredMs, written] = [0, 0]
    const storm = async () => {
      for (let n = 0; n < storms; n++) {
        await here.db.query(terminateAll).catch(() => {})
        stage.did('storms')
        await sleep(stage.dice.between(5, 60))
      }
    }
    const restart = (how: 'SIGINT' | 'SIGQUIT') => async () => {
      await own.restart(how)
      stage.did(how === 'SIGINT' ? 'fast restarts' : 'immediate restarts')
    }
    for (const [at, act] of [storm, restart('SIGINT'), restart('SIGQUIT')].entries()) {
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
    stage.figure('ms until it was well again', Math.round(recoveredMs), {most: 5_000})
    await probe.end(here, stage, {longestMs: 5_000})
  },
}

const terminateAll = sql.unsafe`
  select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`
