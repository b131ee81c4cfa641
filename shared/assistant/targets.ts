import type {Db, Pool} from '../../sql/database.ts'
import {findDiscoveredModule} from '../../sql/discoveries.ts'
import {readAtOnce} from '../../sql/registry.ts'
import type {Annotation} from '../configuration/annotation.ts'
import {annotationsOf} from '../configuration/diff.ts'
import type {Registry} from '../configuration/document.ts'
import {excludedFields} from '../configuration/import-settings.ts'
import {chooseModule, findModules} from '../configuration/name.ts'
import type {AiSamplePolicy} from '../configuration/settings.ts'
import {loadRegistry} from '../configuration/store.ts'
import type {DiscoveredField} from '../crm/discovered.ts'
import {Refusal} from '../errors.ts'
import {isFillable} from '../mapping/flows/value-issues.ts'
import {readPersonalFields} from './personal-fields.ts'
import {readSamplePolicy} from './sample-masking.ts'

/** A field of a module, with the org's annotation. Columns can fill only the fields in `Targets.targets`. */
export type MappingTarget = {module: string; connectorId: string; field: DiscoveredField; annotation: Annotation | null}

/**
 * `targets`: the fields of the chosen modules that columns may fill: writable, not excluded, and not the module's idempotency field. `closed`:
 * the other fields of these modules. `personal`: the fields of all modules that are annotated as personal, writable or not.
 */
export type Targets = {
  targets: MappingTarget[]
  closed: MappingTarget[]
  personal: readonly (MappingTarget & {sources?: readonly string[]})[]
  policy: AiSamplePolicy
  settings: Registry['settings']
}

type TargetsQuery = {org: string; connectorId?: string | undefined; modules: readonly string[]}

/**
 * Reads the fields that may be proposed and the sample policy in one snapshot. Throws a Refusal for an unknown or ambiguous module or connection, and
 * NO_DISCOVERY for a module that the newest discovery does not contain.
 */
export const readTargets = (db: Pool, {org, connectorId: connector, modules}: TargetsQuery): Promise<Targets> =>
  readAtOnce(db, async tx => {
    const registry = await loadRegistry(tx, org)
    const everything = await findModules(tx, org, registry)
    const chosen = new Set(modules.map(name => chooseModule(everything, {name, connector})))
    const fields: (MappingTarget & {isOpen: boolean})[] = []
    for (const known of chosen) fields.push(...(await readFields(tx, registry, known)))
    const without = ({isOpen: _, ...target}: (typeof fields)[number]): MappingTarget => target
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
  if (!discovered) throw new Refusal('NO_DISCOVERY', `${module} is not in the newest discovery. Call POST /orgs/{org}/discovery/run first`)
  const annotations = new Map(annotationsOf(registry, curated?.key ?? '').map(one => [one.apiName, one]))
  const key = curated?.idempotencyField
  const excluded = excludedFields([...(curated?.exclusions ?? []), ...(key ? [key] : [])], [...annotations.values()])
  return discovered.fields.map(field => {
    const annotation = annotations.get(field.apiName) ?? null
    const isOpen = isFillable(field) && !excluded.has(field.apiName)
    return {module, connectorId, field, annotation, isOpen}
  })
}

export const keyOf = ({module, field}: Pick<MappingTarget, 'module' | 'field'>): string => `${module}.${field.apiName}`
