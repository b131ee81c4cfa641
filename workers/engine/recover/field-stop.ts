import {describeUnfit, findUnfit} from '../../../shared/configuration/idempotency-field.ts'
import type {DiscoveredModule} from '../../../shared/crm/discovered.ts'
import {deletes} from '../../../shared/mapping/flows/delete.ts'
import type {SnapshotFlow} from '../../../shared/mapping/flows/snapshot.ts'
import {isFillable} from '../../../shared/mapping/flows/value-issues.ts'
import {canContinue} from '../../../shared/runs/stop.ts'
import {findDiscoveredModule, findLatestDiscovery} from '../../../sql/discoveries.ts'
import type {RunStop} from '../../../sql/run-heads.ts'
import type {OfflineContext} from '../context.ts'

type FieldContext = Pick<OfflineContext, 'db' | 'run' | 'snapshot'>

/**
 * Returns why the run must not write, if the newest discovery shows that its fields no longer fit. The CRM drops values of unknown and read-only
 * fields and still reports success. Null: the fields fit, or the run is an undo, which writes what the CRM had before.
 */
export const findFieldStop = async (ctx: FieldContext): Promise<RunStop | null> =>
  ctx.run.undoOf === null ? ((await findUnfitStop(ctx)) ?? findUnwritableStop(ctx)) : null

/** If, for example, an idempotency field accepts duplicates, a create that is sent again could make a second record. */
const findUnfitStop = async ({db, run, snapshot}: FieldContext): Promise<RunStop | null> => {
  const flows = snapshot.flows.map(({flow}) => flow)
  for (const {apiName: module, idempotencyField: field} of snapshot.modules) {
    if (field === undefined) continue
    const why = findUnfit(await findDiscoveredModule(db, {connector: run.connectorId!, module}), field, flows)
    if (why) return {stopped: 'FIELD_NOT_UNIQUE', message: `${describeUnfit(module, field, why)}. ${canContinue(run)}`}
  }
  return null
}

const findUnwritableStop = async ({db, run, snapshot}: FieldContext): Promise<RunStop | null> => {
  const connector = run.connectorId!
  const newest = await findLatestDiscovery(db, connector)
  if (!newest || newest.id === snapshot.discovery) return null
  const names = [...new Set(snapshot.flows.map(({flow}) => flow.module))]
  const found = await Promise.all(names.map(module => findDiscoveredModule(db, {connector, module})))
  const modules = new Map(names.map((name, at) => [name, found[at] ?? null]))
  for (const snapshotFlow of snapshot.flows) {
    const why = findUnwritable(snapshotFlow, modules, snapshot.flows)
    if (!why) continue
    const remedy = 'Correct this in the CRM and run a discovery, or change the flow'
    return {
      stopped: 'FIELD_NOT_WRITABLE',
      message: `Flow ${snapshotFlow.flow.id} no longer fits the CRM: ${why}. ${remedy}. ${canContinue(run)}`,
    }
  }
  return null
}

/** Returns the first reason why the CRM would drop values of the flow. A module that the discovery could not read gives no reason. */
const findUnwritable = (
  {flow, layout}: SnapshotFlow,
  modules: ReadonlyMap<string, DiscoveredModule | null>,
  flows: readonly SnapshotFlow[],
): string | null => {
  if (deletes(flow)) return null
  const {module: name, parent, subform} = flow
  const module = modules.get(name)
  if (!module) return `there is no module ${name}`
  const mapped = flow.fields.flatMap(({field, mode}) => (mode === 'skip' || layout?.drops.includes(field) ? [] : field))
  for (const written of module.unread ? [] : [...mapped, ...(parent ? [parent.field] : [])]) {
    const field = module.fields.find(({apiName}) => apiName === written)
    if (!field) return `${name} has no field ${written}`
    if (!isFillable(field)) return `${name}.${written} is read only`
  }
  if (!subform) return null
  const holder = modules.get(flows.find(({flow}) => flow.id === subform.parentFlow)!.flow.module)
  const isHeld = holder?.unread || holder?.fields.some(field => field.apiName === subform.field && field.subform?.module === name)
  return isHeld ? null : `there is no subform field ${subform.field} with rows of ${name}`
}
