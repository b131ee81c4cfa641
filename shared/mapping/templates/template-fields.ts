import {z} from 'zod'
import type {Db} from '../../../sql/database.ts'
import {findLatestDiscovery, listDiscoveredModules} from '../../../sql/discoveries.ts'
import {listLibraryRows} from '../../../sql/libraries.ts'
import {findSettings} from '../../../sql/registry.ts'
import {type Settings, usualSettings} from '../../configuration/settings.ts'
import type {DiscoveredField, DiscoveredModule} from '../../crm/discovered.ts'
import {type Namespaces, parseExpression} from '../../expressions/parse.ts'
import {expressionsOf, type Flow} from '../flows/flow.ts'
import {namespacesOf, shapeLibrary} from '../flows/libraries.ts'

const TemplateField = z.object({type: z.string(), length: z.number().nullable(), unique: z.boolean(), lookup: z.string().nullable()})
export type TemplateField = z.output<typeof TemplateField>

/**
 * The fields and libraries that a template uses, as they were when the template was saved. `modules`: fields by module and field name. `libraries`:
 * function names by library. Both are empty if they were unknown then.
 */
export const KnownAtSave = z.object({
  modules: z.record(z.string(), z.record(z.string(), TemplateField)).default({}),
  libraries: z.record(z.string(), z.array(z.string())).default({}),
})
export type KnownAtSave = z.output<typeof KnownAtSave>

/** `discovery`: null if no connection is named or the connection has no discovery yet. */
export type KnownNow = {
  modules: Map<string, DiscoveredModule>
  libraries: Namespaces
  settings: Settings
  discovery: {id: string; createdAt: string} | null
}

export const findKnownNow = async (db: Db, {org, connector}: {org: string; connector: string | null}): Promise<KnownNow> => {
  const discovery = connector === null ? null : await findLatestDiscovery(db, connector)
  const modules = discovery ? await listDiscoveredModules(db, discovery.id) : []
  const libraries = namespacesOf((await listLibraryRows(db, org)).map(shapeLibrary))
  const settings = (await findSettings(db, org)) ?? usualSettings
  return {modules: new Map(modules.map(module => [module.apiName, module])), libraries, settings, discovery}
}

export const keepKnown = (flows: Flow[], {modules, libraries}: Pick<KnownNow, 'modules' | 'libraries'>): KnownAtSave => {
  const fields: KnownAtSave['modules'] = {}
  for (const flow of flows)
    for (const name of fieldsOf(flow)) {
      const field = modules.get(flow.module)?.fields.find(({apiName}) => apiName === name)
      if (field) fields[flow.module] = {...fields[flow.module], [name]: shapeField(field)}
    }
  const parsed = flows.flatMap(expressionsOf).map(source => parseExpression(source, {namespaces: libraries}))
  const called = new Set(parsed.flatMap(result => (result.ok ? result.parsed.namespaces : [])))
  return {modules: fields, libraries: Object.fromEntries([...called].map(name => [name, [...libraries[name]!]]))}
}

export const fieldsOf = ({fields, match, parent}: Flow): string[] => [
  ...new Set([
    ...fields.filter(({mode}) => mode !== 'skip').map(({field}) => field),
    ...(match?.by ?? []),
    ...(parent ? [parent.field] : []),
  ]),
]

export const shapeField = ({type, length, unique, lookup}: DiscoveredField): TemplateField => ({
  type,
  length,
  unique: unique !== null,
  lookup: lookup?.module ?? null,
})
