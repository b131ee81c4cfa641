import type {Tx} from '../../../sql/database.ts'
import {findSettings} from '../../../sql/registry.ts'
import {setGuard} from '../../../sql/run-heads.ts'
import {type RunGuard, scheduledGuard, usualGuard} from './guard.ts'

type GuardChoice = {org: string; run: number; guard: RunGuard | 'usual' | undefined; isScheduled: boolean}

/**
 * Stores the guard of a run: the guard in the request, else the org's, else a default. The default is `scheduledGuard` for scheduled runs,
 * `usualGuard` for requests with `usual`, and no guard for other runs. An empty guard is not stored.
 */
export const chooseGuard = async (tx: Tx, {org, run, guard, isScheduled}: GuardChoice): Promise<void> => {
  const usual = isScheduled ? scheduledGuard : guard === 'usual' ? usualGuard : null
  const stated = guard === 'usual' ? undefined : guard
  const chosen = stated ?? (await findSettings(tx, org))?.guard ?? usual
  if (chosen && Object.keys(chosen).length > 0) await setGuard(tx, {run, guard: chosen})
}
