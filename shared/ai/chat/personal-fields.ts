import type {Db} from '../../../sql/database.ts'
import {findDiscoveredModule} from '../../../sql/discoveries.ts'
import type {Flow} from '../../flows/flow.ts'
import type {Registry} from '../../registry/document.ts'
import {type Columns, judgeColumns} from '../local-mapping.ts'
import type {Sampled} from '../outgoing.ts'
import type {Target} from '../targets.ts'

/** Every field of the org that is annotated as personal, whichever modules a question is about: a file's columns may go to any of them. */
export const readPersonalFields = async (db: Db, registry: Registry): Promise<Target[]> => {
  const found: Target[] = []
  for (const {key, connectorId, apiName: module} of registry.modules) {
    const annotated = new Map((registry.fields[key] ?? []).flatMap(one => (one.pii === true ? [[one.apiName, one] as const] : [])))
    if (annotated.size === 0) continue
    const discovered = await findDiscoveredModule(db, {connector: connectorId, module})
    for (const field of discovered?.fields ?? [])
      if (annotated.has(field.apiName)) found.push({module, connectorId, field, annotation: annotated.get(field.apiName)!})
  }
  return found
}

/** `flows`: of the import, whose columns are personal too where a personal field is filled from them, as they are or by an expression. */
export const judge = (columns: Columns, personal: readonly Target[], flows: readonly Flow[]): Sampled[] => {
  const nothing = columns.map(({name}) => ({column: name, field: null, module: null, confidence: 0, candidates: []}))
  const isPersonal = fieldTest(personal)
  const fills = flows.flatMap(({module, fields}) => fields.filter(({field}) => isPersonal(module, field)))
  const isMapped = (name: string) =>
    fills.some(
      ({source, transform, searchExpression}) =>
        source === name || [transform, searchExpression].some(text => text?.includes(name) ?? false),
    )
  return judgeColumns(columns, {personal: [...personal]}, nothing).map(one => ({...one, pii: one.pii || isMapped(one.name)}))
}

export const fieldTest = (personal: readonly Target[]) => {
  const known = new Set(personal.map(({module, field}) => `${module} ${field.apiName}`))
  return (module: string | null, field: string | null) => known.has(`${module} ${field}`)
}
