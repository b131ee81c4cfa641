import {setTimeout as sleep} from 'node:timers/promises'
import {sql} from '../../sql/database.ts'
import {environment} from './carried.ts'
import {openOwnPostgres} from './own-postgres.ts'
import {playImports} from './play-imports.ts'
import type {Scenario} from './scenario.ts'

const storms = 40

/** Runs three imports while a probe writes through the API. Each import meets another kind of Postgres failure. */
export const postgres: Scenario = {
  row: 'R5',
  fault: 'Postgres restarts, cleanly and as after a power failure, and all its connections are terminated repeatedly',
  goal: '503 within 5 s, automatic recovery within 5 s, no process dies, no acknowledged write is lost',
  async play(stage) {
    const own = await openOwnPostgres(stage)
    const here = await stage.open({workers: ['discovery'], environment: {...environment, DATABASE_URL: own.url}})
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
    await playImports(stage, here, {faults: [storm, restart('SIGINT'), restart('SIGQUIT')], recoveryMs: 5_000, answerMs: 5_000})
  },
}

const terminateAll = sql.unsafe`
  select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`
