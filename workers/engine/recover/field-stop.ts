import {describeUnfit, findUnfit} from '../../../shared/configuration/idempotency-field.ts'
import type {DiscoveredModule} from '../../../shared/crm/discovered.ts'
import {deletes} from '../../../shared/mapping/flows/delete.ts'
import type {SnapshotFlow} from '../../../shared/mapping/flows/snapshot.ts'
import {isFillable} from '../../../shared/mapping/flows/value-issues.ts'
import {adviseToContinue} from '../../../shared/runs/stop.ts'
import {readNewestModules} from '../../../sql/discoveries.ts'
import type {RunStop} from '../../../sql/run-heads.ts'
import type {OfflineContext} from '../context.ts'

type FieldContext = Pick<OfflineContext, 'db' | 'run' | 'snapshot'>

/**
 * Returns why the run must not write, if the newest discovery shows that its fields no longer fit. The CRM drops values of unknown and read-only
 * fields and still reports success. Null: the fields fit, or the run is an undo, which writes what the CRM had before.
 */
export const findFieldStop = async ({db, run, snapshot}: FieldContext): Promise<RunStop | null> => {
  if (run.undoOf !== null) return null
  const names = [...snapshot.flows.map(({flow}) => flow.module), ...snapshot.modules.map(({apiName}) => apiName)]
  const newest = await readNewestModules(db, {connector: run.connectorId!, modules: [...new Set(names)]})
  const unfit = findUnfitIdempotency(snapshot, newest.modules)
  if (unfit) return {stopped: 'FIELD_NOT_UNIQUE', message: `${unfit}. ${adviseToContinue(run)}`}
  const unwritable = newest.id === null || newest.id === snapshot.discovery ? null : findUnwritable(snapshot, newest.modules)
  return unwritable === null ? null : {stopped: 'FIELD_NOT_WRITABLE', message: `${unwritable}. ${adviseToContinue(run)}`}
}

type Modules = ReadonlyMap<string, DiscoveredModule>
type Snapshot = FieldContext['snapshot']

/** Returns why an idempotency field no longer fits. If it accepts duplicates, a repeated create could make a second record. */
const findUnfitIdempotency = (snapshot: Snapshot, modules: Modules): string | null => {
  const flows = snapshot.flows.map(({flow}) => flow)
  for (const {apiName, idempotencyField: field} of snapshot.modules) {
    const why = field === undefined ? null : findUnfit(modules.get(apiName) ?? null, field, flows)
    if (why) return describeUnfit(apiName, field!, why)
  }
  return null
}

const findUnwritable = ({flows}: Snapshot, modules: Modules): string | null => {
  for (const snapshotFlow of flows) {
    const why = findDropped(snapshotFlow, modules, flows)
    if (why)
      return `Flow ${snapshotFlow.flow.id} no longer fits the CRM: ${why}. Correct this in the CRM and run a discovery, or change the flow`
  }
  return null
}

/** Returns the first reason why the CRM would drop values of the flow. A module that the discovery could not read gives no reason. */
const findDropped = ({flow, layout}: SnapshotFlow, modules: Modules, flows: readonly SnapshotFlow[]): string | null => {
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
