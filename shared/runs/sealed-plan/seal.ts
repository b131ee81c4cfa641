import type {Tx} from '../../../sql/database.ts'
import {lockImport} from '../../../sql/imports.ts'
import {findSettings} from '../../../sql/registry.ts'
import {findRun} from '../../../sql/runs.ts'
import {lockPlan, sealPlan} from '../../../sql/sealed-plans.ts'
import {type Author, recordChanges} from '../../configuration/change.ts'
import {Refusal} from '../../errors.ts'
import {announce} from '../../notifications/announce.ts'
import {assertPlanned, assertUnchanged, assertUnexpired} from './start-plan.ts'

/** The days for which a sealed plan can be applied. */
const sealDays = 7

export type PlanName = {org: string; importId: string; runId: string}

/** Finds and locks the plan of an ended dry run. Locks the import first, so that no other request changes the import meanwhile. */
export const lockPlanOf = async (tx: Tx, {org, importId, runId}: PlanName) => {
  const found = await lockImport(tx, {org, id: importId})
  if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
  const run = await findRun(tx, {org, id: runId})
  if (!run || run.importNo !== found.no) throw new Refusal('RUN_NOT_FOUND', 'The import has no such run')
  assertPlanned(run)
  if (run.state !== 'ended') throw new Refusal('NOT_READY', 'The dry run has not ended. Wait for it to end')
  const plan = await lockPlan(tx, run.no)
  if (!plan || run.stop !== null) throw new Refusal('NOT_READY', explainNoPlan(run))
  return {found, run, plan}
}

/** Seals the plan of a dry run that read every row. Announces the plan if it needs approval. Does nothing if the plan is already sealed. */
export const sealPlanOf = async (tx: Tx, author: Author, person: string, name: PlanName): Promise<void> => {
  const {found, run, plan} = await lockPlanOf(tx, name)
  assertUnexpired(plan)
  assertUnchanged(run)
  if (plan.sealedAt) return
  await sealPlan(tx, {run: run.no, person, days: sealDays})
  const after = {run: run.id, rows: plan.rows, digest: plan.digest}
  await recordChanges(tx, author, [
    {page: 'imports', target: found.name, connectorId: found.connectorId, subject: 'plan.sealed', before: null, after},
  ])
  const above = (await findSettings(tx, name.org))?.approvalAbove ?? null
  if (above === null || plan.rows <= above) return
  const about = {import: name.importId, run: run.id, rows: plan.rows, digest: plan.digest}
  await announce(tx, {org: name.org, kind: 'plan.waiting', schedule: null, about})
}

const explainNoPlan = ({stop, connectorKind}: {stop: object | null; connectorKind: string | null}): string => {
  if (stop !== null) return 'The dry run stopped before the last row, so it has no complete plan. Start a new dry run'
  if (connectorKind !== 'zoho') return 'This destination does not say when a record was changed, so its plans cannot be sealed'
  return 'This dry run was made by an earlier version, so it has no plan that can be sealed. Start a new dry run'
}
