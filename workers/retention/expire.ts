import {atPoint} from '../../shared/fault-point.ts'
import {expireImport, expireRun, isStillOld, listOldImports, listOldRuns} from '../../sql/expiry.ts'
import {lockImportNo} from '../../sql/external-runs.ts'
import type {RetentionDeps} from './tally.ts'

const perLook = 100

export type Keeper = {id: string; days: number}

/** Expires imports without activity within the history window. From then on, only a summary of an import and its runs is kept. */
export const expireImports = async ({db, drain, tally}: RetentionDeps, {id: org, days}: Keeper) => {
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
 * Expires runs that ended longer ago than the history window, even if their import stays. Their `chain_rows` are deleted only after all
 * runs of the chain have expired, so that no retry writes rows a second time.
 */
export const expireRuns = async ({db, drain, tally}: RetentionDeps, {id: org, days}: Keeper) => {
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
