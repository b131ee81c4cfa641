import type {Tx} from '../../../sql/database.ts'
import {findSettings} from '../../../sql/registry.ts'
import {setGuard} from '../../../sql/run-heads.ts'
import {type Guard, usualGuard} from './guard.ts'

type GuardChoice = {org: string; run: number; guard: Guard | undefined; isScheduled: boolean}

/** Sets the guard of a run: the requested one, else the org's, else the usual one if a schedule starts the run. Other runs have none. */
export const chooseGuard = async (tx: Tx, {org, run, guard, isScheduled}: GuardChoice): Promise<void> => {
  const chosen = guard ?? (await findSettings(tx, org))?.guard ?? (isScheduled ? usualGuard : null)
  if (chosen && Object.keys(chosen).length > 0) await setGuard(tx, {run, guard: chosen})
}
