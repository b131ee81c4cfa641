import type {Pool} from '../../sql/database.ts'
import {writeStop} from '../../sql/run-heads.ts'
import type {Run} from '../../sql/runs.ts'
import {endOutside, lockStanding} from './outside.ts'
import {cancelled} from './stop.ts'

/**
 * The run writes no more rows. The service's own engine ends it then; an outside engine is told by its next call and closes it. One that
 * has not been heard of for its lease will not: its run is ended here.
 */
export const cancelRun = async (db: Pool, {no, org, id, engine, dryRun}: Pick<Run, 'no' | 'org' | 'id' | 'engine' | 'dryRun'>) => {
  await writeStop(db, {run: no, stop: cancelled({engine, dryRun})})
  if (engine !== 'outside') return
  await db.transaction(async tx => {
    const run = await lockStanding(tx, org, id)
    if (run.state === 'writing' && !run.leaseLive) await endOutside(tx, run, {outcome: null})
  })
}
