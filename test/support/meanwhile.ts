import type {Tx} from '../../sql/database.ts'
import type {TestDeployment} from './test-deployment.ts'
import {until} from './until.ts'

/** Runs `theirs` in a transaction and starts `act` during it. Commits once `act` waits for a lock or has ended. Returns the result of `act`. */
export const meanwhile = async <T>({db, hot}: TestDeployment, theirs: (tx: Tx) => Promise<unknown>, act: () => Promise<T>): Promise<T> => {
  const begun = Promise.withResolvers<void>()
  const state = {over: false}
  const acting = begun.promise.then(act).finally(() => {
    state.over = true
  })
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  await db.transaction(async tx => {
    await theirs(tx)
    begun.resolve()
    await until(async () => state.over || (await hot.query(waiting)).rowCount! > 0, Boolean)
  })
  return acting
}
