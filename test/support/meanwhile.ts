import {z} from 'zod'
import {sql, type Tx} from '../../sql/database.ts'
import type {TestDeployment} from './test-deployment.ts'
import {until} from './until.ts'

/**
 * Runs `theirs` in a transaction and starts `act` during it. Commits once a session waits for this transaction, or `act` has ended. Returns the
 * result of `act`.
 */
export const meanwhile = async <T>({db, hot}: TestDeployment, theirs: (tx: Tx) => Promise<unknown>, act: () => Promise<T>): Promise<T> => {
  const begun = Promise.withResolvers<void>()
  const state = {over: false}
  const acting = begun.promise.then(act).finally(() => {
    state.over = true
  })
  const waiting = 'select from pg_stat_activity where $1 = any(pg_blocking_pids(pid))'
  await db.transaction(async tx => {
    await theirs(tx)
    const pid = await tx.oneFirst(sql.type(z.object({pid: z.number()}))`select pg_backend_pid() as pid`)
    begun.resolve()
    await until(async () => state.over || (await hot.query(waiting, [pid])).rowCount! > 0, Boolean)
  })
  return acting
}
