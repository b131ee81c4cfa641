import type {ModuleSettings} from '../../configuration/import-settings.ts'
import type {DiscoveredModule} from '../../crm/discovered.ts'
import type {Namespaces} from '../../expressions/parse.ts'
import {addZones, type DateSettings} from './date-defaults.ts'
import {deletes} from './delete.ts'
import {type Flow, Mapping} from './flow.ts'
import {patchIssues} from './patch.ts'
import {type FlowIssue, issue, valueIssues} from './value-issues.ts'
import {optionIssues} from './write-options.ts'

type SettingsOf = (module: string) => ModuleSettings
type FlowFacts = {
  sources: {id: string; columns: string[]}[]
  modules: Map<string, DiscoveredModule>
  libraries: Namespaces
  settings: DateSettings
}

/**
 * A flow without `match` gets the default match of its module; with `match: null`, every row creates a record. A flow whose id is not in `stored`
 * gets default mappings for fields that it does not map. Default mappings of excluded fields, and those that do not fit the file, the CRM or the flow,
 * are left out. Subform flows and delete flows get no defaults.
 */
export const addModuleDefaults = (flows: Flow[], stored: readonly Flow[], settingsOf: SettingsOf, facts: FlowFacts): Flow[] => {
  const before = new Set(stored.map(({id}) => id))
  return flows.map(flow => {
    if (flow.subform || deletes(flow)) return flow
    const {match, excluded, defaults} = settingsOf(flow.module)
    const matched =
      flow.match === undefined && match
        ? {...flow, match: {onOne: 'update' as const, onMany: 'ask' as const, ...dropUndefined(match)}}
        : flow
    return before.has(flow.id)
      ? matched
      : addMappings(
          matched,
          defaults.filter(({field}) => !excluded.has(field)),
          facts,
        )
  })
}

/** Lists the mappings of excluded fields, except fields that the stored flow with the same id already writes. */
export const excludedIssues = (flows: readonly Flow[], stored: readonly Flow[], settingsOf: SettingsOf): FlowIssue[] =>
  flows.flatMap((flow, at) => {
    const {excluded} = settingsOf(flow.module)
    const before = new Set(stored.filter(({id, module}) => id === flow.id && module === flow.module).flatMap(writtenFields))
    const isNew = (field: string) => excluded.has(field) && !before.has(field)
    const say = (path: FlowIssue['path'], field: string) =>
      issue([at, ...path], `The settings of ${flow.module} exclude ${field} from imports. Skip the field, or send force=true`)
    return [
      ...flow.fields.flatMap(({field, mode}, n) => (mode !== 'skip' && isNew(field) ? [say(['fields', n, 'field'], field)] : [])),
      ...(flow.parent && isNew(flow.parent.field) ? [say(['parent', 'field'], flow.parent.field)] : []),
    ]
  })

const writtenFields = ({fields, parent}: Flow): string[] => [
  ...fields.filter(({mode}) => mode !== 'skip').map(({field}) => field),
  ...(parent ? [parent.field] : []),
]

const addMappings = (flow: Flow, defaults: ModuleSettings['defaults'], {sources, modules, libraries, settings}: FlowFacts): Flow => {
  const module = modules.get(flow.module)
  const columns = sources.find(({id}) => id === flow.sourceId)?.columns
  if (!module || !columns) return flow
  const named = new Set([...flow.fields.map(({field}) => field), ...(flow.parent ? [flow.parent.field] : [])])
  const added = [...flow.fields]
  const issuesWith = (fields: Mapping[]) =>
    new Set([...patchIssues({...flow, fields}, module), ...optionIssues({...flow, fields}, module)].map(({message}) => message))
  for (const {skip, mode = 'column', ...given} of defaults) {
    const field = module.fields.find(({apiName}) => apiName === given.field)
    const {data: mapping} = Mapping.safeParse({...given, mode})
    if (skip || mode === 'skip') named.add(given.field)
    if (!field || !mapping || named.has(mapping.field)) continue
    const [zoned] = addZones([{...flow, fields: [mapping]}], modules, settings)
    if (valueIssues(zoned!.fields[0]!, field, {columns, modules, libraries}).length > 0) continue
    if (!issuesWith([...added, mapping]).isSubsetOf(issuesWith(added))) continue
    named.add(mapping.field)
    added.push(mapping)
  }
  return added.length > flow.fields.length ? {...flow, fields: added} : flow
}

const dropUndefined = <T extends object>(values: T) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {[N in keyof T]: Exclude<T[N], undefined>}
