import type {Db} from '../../../sql/database.ts'
import type {Import} from '../../../sql/imports.ts'
import {findLastDryRun, listTemplateRuns, type Run} from '../../../sql/runs.ts'
import {readsSameRows} from '../confirm-deletes.ts'
import {describeRun} from '../describe.ts'
import {readRun} from '../names.ts'

/**
 * What an earlier run shows about the rows of an import. `modules`: row counts by API name of the module; null if no earlier run can be used.
 * `written`: rows created, updated, planned or refused. `dryRun`: the number of a current dry run of the import, if `isDryRun`. `cost` and `match`:
 * the CRM calls by kind and the match route; null if flows matched by several routes.
 */
export type WrittenShares = {
  modules: Map<string, {written: number; skipped: number}> | null
  isDryRun: boolean
  dryRun: number | null
  cost: Run['cost'] | null
  match: 'query' | 'snapshot' | null
}

/** How many recent runs of the template are searched for a complete one. */
const mostRuns = 20

/**
 * Uses a current dry run of the whole import if there is one. If not, uses the last complete run among the newest 20 of the template, except dry runs,
 * undos, retries and external runs.
 */
export const findShares = async (db: Db, {org, found}: {org: string; found: Import}): Promise<WrittenShares> => {
  const dryRun = await findLastDryRun(db, found.no)
  const isCurrent = dryRun !== null && isCompleteFirstRun(dryRun) && dryRun.stale === false && (await readsSameRows(db, dryRun, undefined))
  const run = isCurrent ? dryRun : await findTemplateRun(db, org, found.templateId)
  if (!run) return {modules: null, isDryRun: false, dryRun: null, cost: null, match: null}
  const {counts} = describeRun({run, importId: found.id, ...(await readRun(db, run))})
  const modules = Object.entries(counts as Record<string, Record<string, number>>).map(([module, by]) => {
    const sum = (...outcomes: string[]) => outcomes.reduce((total, outcome) => total + (by[outcome] ?? 0), 0)
    return [module, {written: sum('created', 'updated', 'planned', 'refused'), skipped: sum('skipped')}] as const
  })
  const [match = 'query', ...others] = [...new Set(run.routes.map(one => one.match))]
  const isOne = others.length === 0
  return {
    modules: new Map(modules),
    isDryRun: isCurrent,
    dryRun: isCurrent ? run.no : null,
    cost: isOne ? run.cost : null,
    match: isOne ? match : null,
  }
}

/** Whether the run is complete, and neither a retry nor an undo. */
const isCompleteFirstRun = ({state, stop, undoOf, retryOf}: Run) =>
  state === 'ended' && stop === null && undoOf === null && retryOf === null

const findTemplateRun = async (db: Db, org: string, template: string | null): Promise<Run | undefined> => {
  if (template === null) return undefined
  const runs = await listTemplateRuns(db, {org, template, before: null, limit: mostRuns})
  return runs.find(run => isCompleteFirstRun(run) && !run.dryRun && run.engine === 'worker')
}
