import type {Db, Pool} from '../../sql/database.ts'
import {findDiscoveredModule} from '../../sql/discoveries.ts'
import {readAtOnce} from '../../sql/registry.ts'
import type {DiscoveredField} from '../crm/discovered.ts'
import {Refusal} from '../errors.ts'
import {isFillable} from '../flows/value-issues.ts'
import type {Annotation} from '../registry/annotation.ts'
import {annotationsOf} from '../registry/diff.ts'
import type {Registry} from '../registry/document.ts'
import {chooseModule, findModules} from '../registry/name.ts'
import type {AiSamplePolicy} from '../registry/settings.ts'
import {loadRegistry} from '../registry/store.ts'
import {readSamplePolicy} from './outgoing.ts'
import {readPersonalFields} from './personal-fields.ts'

/** A field a column may go into: it is there, can be written, and nobody excluded it. */
export type Target = {module: string; connectorId: string; field: DiscoveredField; annotation: Annotation | null}

/** `closed`: the other fields of these modules. `personal`: those of all modules that are annotated so, whether a column may go there or not. */
export type Targets = {
  targets: Target[]
  closed: Target[]
  personal: readonly (Target & {sources?: readonly string[]})[]
  policy: AiSamplePolicy
  settings: Registry['settings']
}

type Asked = {org: string; connectorId?: string | undefined; modules: readonly string[]}

/** What of the org's modules may be proposed, and what may leave for it, of one moment. Refuses as the configuration's own routes do. */
export const readTargets = (db: Pool, {org, connectorId: connector, modules}: Asked): Promise<Targets> =>
  readAtOnce(db, async tx => {
    const registry = await loadRegistry(tx, org)
    const everything = await findModules(tx, org, registry)
    const chosen = new Set(modules.map(name => chooseModule(everything, {name, connector})))
    const fields: (Target & {isOpen: boolean})[] = []
    for (const known of chosen) fields.push(...(await readFields(tx, registry, known)))
    const without = ({isOpen: _, ...target}: (typeof fields)[number]): Target => target
    return {
      targets: fields.filter(({isOpen}) => isOpen).map(without),
      closed: fields.filter(({isOpen}) => !isOpen).map(without),
      personal: await readPersonalFields(tx, org, registry),
      policy: await readSamplePolicy(tx, org),
      settings: registry.settings,
    }
  })

type Chosen = ReturnType<typeof chooseModule>

const readFields = async (tx: Db, registry: Registry, {connectorId, apiName: module, curated}: Chosen) => {
  const discovered = await findDiscoveredModule(tx, {connector: connectorId, module})
  if (!discovered) throw new Refusal('NO_DISCOVERY', `${module} is not in the newest discovery: POST /orgs/{org}/discovery/run first`)
  const annotations = new Map(annotationsOf(registry, curated?.key ?? '').map(one => [one.apiName, one]))
  const excluded = new Set(curated?.exclusions ?? [])
  return discovered.fields.map(field => {
    const annotation = annotations.get(field.apiName) ?? null
    const isOpen = isFillable(field) && annotation?.excluded !== true && !excluded.has(field.apiName)
    return {module, connectorId, field, annotation, isOpen}
  })
}

/** How a field is named where several modules are asked about. */
export const keyOf = ({module, field}: Pick<Target, 'module' | 'field'>): string => `${module}.${field.apiName}`
