import type {Db} from '../../../sql/database.ts'
import {listOpenCreates} from '../../../sql/record-claims.ts'

type OpenCreatesQuery = Parameters<typeof listOpenCreates>[1]
type WaitOptions = {
  seconds: number
  maxPauseMs: number
  /** Rejects if the caller's request ends. */
  wait(ms: number): Promise<unknown>
}

/**
 * Waits until other runs' creates in the module at the CRM org are settled or overdue, because one of them may have made the record. Ignores creates
 * that are sent later. Returns false if a create is still open after `seconds`.
 */
export const waitForOpenCreates = async (db: Db, query: OpenCreatesQuery, {seconds, maxPauseMs, wait}: WaitOptions): Promise<boolean> => {
  const until = performance.now() + seconds * 1000
  const open = new Set((await listOpenCreates(db, query)).map(nameOf))
  for (let ms = 50; open.size > 0 && performance.now() < until; ms = Math.min(ms * 2, maxPauseMs)) {
    await wait(ms)
    const still = new Set((await listOpenCreates(db, query)).map(nameOf))
    for (const name of open) if (!still.has(name)) open.delete(name)
  }
  return open.size === 0
}

const nameOf = ({run, batch}: {run: number; batch: number}) => `${run} ${batch}`
