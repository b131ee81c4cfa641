import type {Db, Pool} from '../../sql/database.ts'
import {listRemovedFields} from '../../sql/discovered.ts'
import {findDiscoveredModule} from '../../sql/discoveries.ts'
import {Refusal} from '../errors.ts'
import type {Issue} from './annotation.ts'
import type {Author} from './change.ts'
import {annotationsOf, usualModule} from './diff.ts'
import {highestOrder, type ModuleValue, mostModules, type Registry, type RegistryModule} from './document.ts'
import {editRegistry, type RegistryEditInput} from './edit.ts'
import {type AllModules, chooseModule, findModules, type KnownModule, newKey} from './name.ts'

/** Describes a module in the form of `config/modules`. A module without configuration has no key and no position. */
export const describeModule = ({connectorId, apiName, curated, discovered}: KnownModule) => ({
  key: null,
  order: null,
  ...usualModule,
  ...curated,
  connectorId,
  apiName,
  label: discovered?.label ?? null,
  crmSingular: discovered?.singular ?? null,
  kind: discovered?.kind ?? null,
  creatable: discovered?.creatable ?? false,
  editable: discovered?.editable ?? false,
  visible: discovered?.visible ?? false,
  ...describeOptions(discovered),
  removed: discovered === null,
})

/** Describes what a flow into the module can choose besides its values. */
const describeOptions = (discovered: KnownModule['discovered']) => ({
  layouts: (discovered?.layouts ?? []).map(({id, name}) => ({id, name})),
  assignmentRules: discovered?.assignmentRules ?? [],
  hasWriteOptions: discovered?.hasWriteOptions ?? true,
})

/** The changeable values of a module. A value that is left out stays. */
type ModulePatch = Partial<{[N in ModuleValue]: RegistryModule[N] | undefined}>
type ModuleRef = {module: string; connector?: string | undefined}

export const patchModule = (db: Pool, author: Author, input: RegistryEditInput & ModuleRef, patch: ModulePatch) =>
  editRegistry(db, author, input, async (registry, tx) => {
    const everything = await findModules(tx, author.org, registry)
    const knownModule = chooseModule(everything, {name: input.module, connector: input.connector})
    await assertFields(tx, knownModule, patch, annotationsOf(registry, knownModule.curated?.key ?? ''))
    const [held, curated] = curate(registry, knownModule, everything)
    const module = {...curated, ...dropUndefined(patch)}
    // An empty patch does not configure a module.
    if (Object.keys(patch).length === 0) return {registry, known: knownModule}
    return {registry: replaceModule(held, module), known: {...knownModule, curated: module}}
  })

/** Sets the order in which records are created: the named modules first, in the given order, then the others as before. */
export const orderModules = (db: Pool, author: Author, input: RegistryEditInput & {modules: string[]; connector?: string | undefined}) =>
  editRegistry(db, author, input, async (registry, tx) => {
    const everything = await findModules(tx, author.org, registry)
    const first = input.modules.map(name => chooseModule(everything, {name, connector: input.connector}))
    const repeated = first.findIndex((knownModule, at) => first.indexOf(knownModule) < at)
    if (repeated >= 0) throw invalid([{code: 'custom', path: ['modules', repeated], message: 'This module is already named above'}])
    let held = registry
    const named = first.map(knownModule => {
      const [next, curated] = curate(held, knownModule, everything)
      held = next
      return curated
    })
    const keys = new Set(named.map(({key}) => key))
    const sequence = [...named, ...held.modules.filter(({key}) => !keys.has(key))]
    const isAsItWas = sequence.every(({key}, at) => key === held.modules[at]?.key)
    return {registry: isAsItWas ? held : {...held, modules: sequence.map((module, at) => ({...module, order: at + 1}))}}
  })

/**
 * Returns the registry that contains the module, and the module itself. A module without an entry gets one at the end. If no position is left
 * there, all modules are renumbered.
 */
export const curate = (
  registry: Registry,
  knownModule: KnownModule,
  {modules}: Pick<AllModules, 'modules'>,
): [Registry, RegistryModule] => {
  const {connectorId, apiName, curated} = knownModule
  if (curated) return [registry, curated]
  if (registry.modules.length >= mostModules)
    throw new Refusal('INVALID', `An org can configure at most ${mostModules} modules`, {
      issues: [{code: 'too_big', path: [], message: `At most ${mostModules} modules`}],
    })
  const last = registry.modules.at(-1)?.order ?? 0
  const held = last < highestOrder ? registry.modules : registry.modules.map((one, at) => ({...one, order: at + 1}))
  const others = modules.flatMap(one => (one === knownModule ? [] : [one.apiName]))
  const module: RegistryModule = {
    key: newKey(registry, apiName, others),
    apiName,
    connectorId,
    order: (held.at(-1)?.order ?? 0) + 1,
    ...usualModule,
    uniqueFields: [],
    exclusions: [],
    seedMappings: [],
  }
  return [{...registry, modules: [...held, module]}, module]
}

const replaceModule = (registry: Registry, module: RegistryModule): Registry => ({
  ...registry,
  modules: registry.modules.map(one => (one.key === module.key ? module : one)),
})

export const fieldsNamedBy = ({uniqueFields = [], idempotencyField, match, exclusions = [], seedMappings = []}: ModulePatch) => [
  ...uniqueFields.map((name, at) => ({name, path: ['uniqueFields', at]})),
  ...(idempotencyField == null ? [] : [{name: idempotencyField, path: ['idempotencyField']}]),
  ...(match?.by ?? []).map((name, at) => ({name, path: ['match', 'by', at]})),
  ...exclusions.map((name, at) => ({name, path: ['exclusions', at]})),
  ...seedMappings.map(({field: name}, at) => ({name, path: ['seedMappings', at, 'field']})),
]

const assertFields = async (db: Db, knownModule: KnownModule, patch: ModulePatch, annotated: {apiName: string}[]) => {
  const named = fieldsNamedBy(patch)
  if (named.length === 0) return
  const {all} = await fieldNames(db, knownModule)
  for (const {apiName} of annotated) all.add(apiName)
  const unknown = named.filter(({name}) => !all.has(name))
  if (unknown.length > 0)
    throw invalid(unknown.map(({name, path}) => ({code: 'custom', path, message: `${knownModule.apiName} has no field ${name}`})))
}

/**
 * Returns the fields of a module: present fields (`fields`), removed fields, the names of present fields (`now`), and the names of both (`all`).
 */
export const fieldNames = async (db: Db, {connectorId: connector, apiName: module}: Pick<KnownModule, 'connectorId' | 'apiName'>) => {
  const fields = (await findDiscoveredModule(db, {connector, module}))?.fields ?? []
  const now = new Set(fields.map(({apiName}) => apiName))
  const removed = (await listRemovedFields(db, {connector, module})).filter(({field}) => !now.has(field.apiName))
  return {now, all: new Set([...now, ...removed.map(({field}) => field.apiName)]), fields, removed}
}

export const invalid = (issues: Issue[]) => new Refusal('INVALID', 'The request does not match its schema', {issues})

const dropUndefined = (patch: ModulePatch) =>
  Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined)) as Partial<RegistryModule>
