import {atPoint} from '../../shared/fault-point.ts'
import {expireImport, expireRun, isStillOld, listOldImports, listOldRuns} from '../../sql/expiry.ts'
import {lockImportNo} from '../../sql/outside-runs.ts'
import type {Retaining} from './tally.ts'

const perLook = 100

/** Whose window has passed, and its days. */
export type Keeper = {id: string; days: number}

/** Imports nobody has done anything with for the window. From here on they and their runs are a bare record. */
export const expireImports = async ({db, drain, tally}: Retaining, {id: org, days}: Keeper) => {
  for (let after = 0; ; ) {
    const found = await listOldImports(db, {org, days, after, limit: perLook})
    for (const no of found) {
      drain.throwIfAborted()
      const runsExpired = await db.transaction(async tx => {
        await lockImportNo(tx, no)
        return (await isStillOld(tx, {no, days})) ? expireImport(tx, {no, deleted: false}) : null
      })
      if (runsExpired !== null) await tally.add({importsExpired: 1, runsExpired})
      atPoint('in_retention')
    }
    if (found.length < perLook) return
    after = found.at(-1)!
  }
}

/**
 * Runs that ended before the window, in imports that live on. What became of their rows stays while a later run of their chain is within it
 * (`chain_rows`): a retry would write them a second time.
 */
export const expireRuns = async ({db, drain, tally}: Retaining, {id: org, days}: Keeper) => {
  for (let after = 0; ; ) {
    const found = await listOldRuns(db, {org, days, after, limit: perLook})
    for (const {no, importNo} of found) {
      drain.throwIfAborted()
      const isExpired = await db.transaction(async tx => {
        if (importNo !== null) await lockImportNo(tx, importNo)
        return expireRun(tx, no)
      })
      if (isExpired) await tally.add({runsExpired: 1})
      atPoint('in_retention')
    }
    if (found.length < perLook) return
    after = found.at(-1)!.no
  }
}
