import {environment} from './carried.ts'
import {openOwnPooler} from './own-pooler.ts'
import {openOwnPostgres} from './own-postgres.ts'
import {playImports} from './play-imports.ts'
import type {Scenario} from './scenario.ts'

/** Runs three imports through a PgBouncer in transaction mode: undisturbed, with a killed pooler, and with a restarted Postgres. */
export const pooler: Scenario = {
  row: 'R22',
  fault: 'all processes share eight connections of a PgBouncer in transaction mode, which is killed; Postgres restarts behind it',
  goal: '503 within 5 s, automatic recovery within 10 s, no process dies, no acknowledged write is lost',
  program: 'pgbouncer',
  async play(stage) {
    const own = await openOwnPostgres(stage)
    const between = await openOwnPooler(stage, own.url)
    const here = await stage.open({workers: ['discovery'], environment: {...environment, DATABASE_URL: between.url}})
    const killPooler = async () => {
      await between.restart()
      stage.did('killed poolers')
    }
    const restartPostgres = async () => {
      await own.restart('SIGQUIT')
      stage.did('immediate restarts')
    }
    const nothing = async () => {}
    await playImports(stage, here, {faults: [nothing, killPooler, restartPostgres], recoveryMs: 10_000, answerMs: 5_000})
  },
}
