import type {Db} from '../../sql/database.ts'
import type {Annotation} from './annotation.ts'
import {annotationsOf} from './diff.ts'
import type {RegistryModule} from './document.ts'
import {loadRegistry} from './store.ts'

/** A mapping that a flow gets for a field that the flow does not name. */
type FieldDefault = Omit<RegistryModule['seedMappings'][number], 'field'> & {field: string}

export type ModuleSettings = {match: RegistryModule['match']; excluded: ReadonlySet<string>; defaults: FieldDefault[]}

const nothing: ModuleSettings = {match: null, excluded: new Set(), defaults: []}

/** Reads the settings of a connection's modules. Returns a function from API name to settings, which are empty for an unconfigured module. */
export const readModuleSettings = async (
  db: Db,
  {org, connector}: {org: string; connector: string},
): Promise<(module: string) => ModuleSettings> => {
  const registry = await loadRegistry(db, org)
  const own = registry.modules.filter(({connectorId}) => connectorId === connector)
  const settings = new Map(own.map(module => [module.apiName, settingsOf(module, annotationsOf(registry, module.key))]))
  return module => settings.get(module) ?? nothing
}

type FieldNotes = Pick<Annotation, 'apiName' | 'excluded' | 'defaultMapping'>

/**
 * Returns the settings of one module. A seed mapping of the module precedes the default mapping in the field's annotation, because the first
 * mapping of a field counts. The idempotency field has no default mapping, because no flow may map it.
 */
const settingsOf = ({match, exclusions, seedMappings, idempotencyField}: RegistryModule, annotations: FieldNotes[]): ModuleSettings => {
  const noted = annotations.flatMap(({apiName, defaultMapping}) => (defaultMapping ? [{field: apiName, ...defaultMapping}] : []))
  const defaults = [...seedMappings, ...noted].filter(({field}) => field !== idempotencyField)
  return {match, excluded: excludedFields(exclusions, annotations), defaults}
}

/** Returns the fields that imports do not offer: those that the module's settings or the annotations exclude. */
export const excludedFields = (exclusions: readonly string[], annotations: readonly FieldNotes[]): ReadonlySet<string> =>
  new Set([...exclusions, ...annotations.flatMap(({apiName, excluded}) => (excluded ? [apiName] : []))])
