import type {Db, Pool} from '../../sql/database.ts'
import {listRemovedFields} from '../../sql/discovered.ts'
import {findDiscoveredModule} from '../../sql/discoveries.ts'
import {Refusal} from '../errors.ts'
import type {Issue} from './annotation.ts'
import type {Author} from './change.ts'
import {annotationsOf, usualModule} from './diff.ts'
import {type ModuleValue, mostModules, type Registry, type RegistryModule} from './document.ts'
import {type Asked, editRegistry} from './edit.ts'
import {chooseModule, type Everything, findModules, type Known, newKey} from './name.ts'

/** A module as `config/modules` tells it. One that nobody curated has no key and no place yet. */
export const describeModule = ({connectorId, apiName, curated, discovered}: Known) => ({
  ...{key: null, order: null, ...usualModule, ...curated, connectorId, apiName},
  label: discovered?.label ?? null,
  crmSingular: discovered?.singular ?? null,
  kind: discovered?.kind ?? null,
  creatable: discovered?.creatable ?? false,
  editable: discovered?.editable ?? false,
  visible: discovered?.visible ?? false,
  /** The newest discovery has it no more. */
  removed: discovered === null,
})

/** What of a module somebody may change. What is left out stays. */
type ModulePatch = Partial<{[N in ModuleValue]: RegistryModule[N] | undefined}>
type Named = {module: string; connector?: string | undefined}

export const patchModule = (db: Pool, author: Author, asked: Asked & Named, patch: ModulePatch) =>
  editRegistry(db, author, asked, async (registry, tx) => {
    const everything = await findModules(tx, author.org, registry)
    const known = chooseModule(everything, {name: asked.module, connector: asked.connector})
    await assertFields(tx, known, patch, annotationsOf(registry, known.curated?.key ?? ''))
    const [held, curated] = curate(registry, known, everything)
    const module = {...curated, ...dropUndefined(patch)}
    // Nothing said about a module nobody curated is no word about it.
    if (Object.keys(patch).length === 0) return {registry, known}
    return {registry: replaceModule(held, module), known: {...known, curated: module}}
  })

/** The order in which records are made: the modules named first, as they are named, then the others as they were. */
export const orderModules = (db: Pool, author: Author, asked: Asked & {modules: string[]; connector?: string | undefined}) =>
  editRegistry(db, author, asked, async (registry, tx) => {
    const everything = await findModules(tx, author.org, registry)
    const first = asked.modules.map(name => chooseModule(everything, {name, connector: asked.connector}))
    const repeated = first.findIndex((known, at) => first.indexOf(known) < at)
    if (repeated >= 0) throw invalid([{code: 'custom', path: ['modules', repeated], message: 'This module is named above already'}])
    let held = registry
    const named = first.map(known => {
      const [next, curated] = curate(held, known, everything)
      held = next
      return curated
    })
    const keys = new Set(named.map(({key}) => key))
    const sequence = [...named, ...held.modules.filter(({key}) => !keys.has(key))]
    const isAsItWas = sequence.every(({key}, at) => key === held.modules[at]?.key)
    return {registry: isAsItWas ? held : {...held, modules: sequence.map((module, at) => ({...module, order: at + 1}))}}
  })

/** The registry with this module in it, last in order where it is new, and the module. */
export const curate = (registry: Registry, known: Known, {modules}: Pick<Everything, 'modules'>): [Registry, RegistryModule] => {
  const {connectorId, apiName, curated} = known
  if (curated) return [registry, curated]
  if (registry.modules.length >= mostModules)
    throw new Refusal('INVALID', `An org curates at most ${mostModules} modules`, {
      issues: [{code: 'too_big', path: [], message: `At most ${mostModules} modules`}],
    })
  const order = (registry.modules.at(-1)?.order ?? 0) + 1
  const others = modules.flatMap(one => (one === known ? [] : [one.apiName]))
  const module: RegistryModule = {
    ...{key: newKey(registry, apiName, others), apiName, connectorId, order},
    ...{...usualModule, uniqueFields: [], exclusions: [], seedMappings: []},
  }
  return [{...registry, modules: [...registry.modules, module]}, module]
}

const replaceModule = (registry: Registry, module: RegistryModule): Registry => ({
  ...registry,
  modules: registry.modules.map(one => (one.key === module.key ? module : one)),
})

/** Every field name a module's values hold, and where. */
export const fieldsNamedBy = ({uniqueFields = [], match, exclusions = [], seedMappings = []}: ModulePatch) => [
  ...uniqueFields.map((name, at) => ({name, path: ['uniqueFields', at]})),
  ...(match?.by ?? []).map((name, at) => ({name, path: ['match', 'by', at]})),
  ...exclusions.map((name, at) => ({name, path: ['exclusions', at]})),
  ...seedMappings.map(({field: name}, at) => ({name, path: ['seedMappings', at, 'field']})),
]

const assertFields = async (db: Db, known: Known, patch: ModulePatch, annotated: {apiName: string}[]) => {
  const named = fieldsNamedBy(patch)
  if (named.length === 0) return
  const {all} = await fieldNames(db, known)
  for (const {apiName} of annotated) all.add(apiName)
  const unknown = named.filter(({name}) => !all.has(name))
  if (unknown.length > 0)
    throw invalid(unknown.map(({name, path}) => ({code: 'custom', path, message: `${known.apiName} has no field ${name}`})))
}

/** The fields of a module by API name: those of the newest discovery, and with them those that were there before. */
export const fieldNames = async (db: Db, {connectorId: connector, apiName: module}: Pick<Known, 'connectorId' | 'apiName'>) => {
  const fields = (await findDiscoveredModule(db, {connector, module}))?.fields ?? []
  const now = new Set(fields.map(({apiName}) => apiName))
  const removed = (await listRemovedFields(db, {connector, module})).filter(({field}) => !now.has(field.apiName))
  return {now, all: new Set([...now, ...removed.map(({field}) => field.apiName)]), fields, removed}
}

export const invalid = (issues: Issue[]) => new Refusal('INVALID', 'The request does not match its schema', {issues})

const dropUndefined = (patch: ModulePatch) =>
  Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined)) as Partial<RegistryModule>
