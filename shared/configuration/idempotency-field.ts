import type {Db, Tx} from '../../sql/database.ts'
import {findDiscoveredModule} from '../../sql/discoveries.ts'
import {listIdempotencyFields, listUsesOfField} from '../../sql/idempotency.ts'
import type {DiscoveredModule} from '../crm/discovered.ts'
import {Refusal} from '../errors.ts'
import type {Issue} from '../mapping/flows/flow.ts'
import {isOneModule} from './diff.ts'
import type {Registry, RegistryModule} from './document.ts'

/** The length of an idempotency value, in characters. */
const idempotencyLength = 26

/** The idempotency field of each module, by API names. */
export type IdempotencyFields = ReadonlyMap<string, string>

export const readIdempotencyFields = async (db: Db, connection: {org: string; connector: string}): Promise<IdempotencyFields> =>
  new Map((await listIdempotencyFields(db, connection)).map(({module, field}) => [module, field]))

type WritingFlow = {module: string; layout?: string | null | undefined}

/**
 * Returns why the field cannot store idempotency values, or null if it can. `module` comes from the newest discovery; null if the discovery lacks the
 * module. The layouts of `flows` into the module must have the field, because the CRM drops fields that a flow's layout lacks.
 */
export const findUnfit = (module: DiscoveredModule | null, name: string, flows: readonly WritingFlow[] = []): string | null => {
  const field = module?.fields.find(({apiName}) => apiName === name)
  if (!module || !field) return 'the CRM does not have it'
  if (module.kind === 'subform') return 'rows of a subform are sent with their record'
  if (field.type !== 'text') return `its type is ${field.type}, and text is needed`
  if (field.length !== null && field.length < idempotencyLength)
    return `it holds ${field.length} characters, and ${idempotencyLength} are needed`
  if (!field.unique) return 'it does not refuse duplicate values'
  if (!field.creatable || field.readOnly) return 'a create cannot set it'
  const layouts = flows.flatMap(flow => (flow.module === module.apiName ? module.layouts?.filter(({id}) => id === flow.layout) : []) ?? [])
  const without = layouts.find(({fields}) => !fields.includes(name))
  return without ? `the layout ${without.name}, which a flow names, does not have it` : null
}

/** Refuses flows into modules whose field cannot store idempotency values. */
export const assertFit = (flows: readonly WritingFlow[], modules: ReadonlyMap<string, DiscoveredModule>, fields: IdempotencyFields) => {
  for (const module of new Set(flows.map(flow => flow.module))) {
    const field = fields.get(module)
    const why = field === undefined ? null : findUnfit(modules.get(module) ?? null, field, flows)
    if (why) throw new Refusal('FIELD_NOT_UNIQUE', describeUnfit(module, field!, why))
  }
}

export const describeUnfit = (module: string, field: string, why: string) =>
  `${module}.${field} cannot be the idempotency field: ${why}. Correct the field in the CRM and run a discovery, or choose another field in the module's settings`

type MappedFlow = {module: string; fields: readonly {field: string; mode?: string}[]}

/** Refuses flows that map an idempotency field, because imports fill it themselves. */
export const assertUnmapped = (flows: readonly MappedFlow[], fields: IdempotencyFields) => {
  const mapped = flows.find(flow => findMapping(flow, fields) >= 0)
  if (mapped) throw new Refusal('FIELD_MAPPED', describeMapped(mapped.module, fields))
}

/** Returns one issue for each flow that `assertUnmapped` would refuse. */
export const listMapped = (flows: readonly MappedFlow[], fields: IdempotencyFields): Issue[] =>
  flows.flatMap((flow, at) => {
    const mapping = findMapping(flow, fields)
    return mapping < 0 ? [] : [{path: [at, 'fields', mapping, 'field'], message: describeMapped(flow.module, fields)}]
  })

/** Returns one issue for each flow that `assertUnmapped` or `assertFit` would refuse. */
export const listIdempotencyIssues = (
  flows: readonly (MappedFlow & WritingFlow)[],
  modules: ReadonlyMap<string, DiscoveredModule>,
  fields: IdempotencyFields,
): Issue[] => [
  ...listMapped(flows, fields),
  ...flows.flatMap((flow, at) => {
    const {module} = flow
    const field = findMapping(flow, fields) < 0 ? fields.get(module) : undefined
    const why = field === undefined ? null : findUnfit(modules.get(module) ?? null, field, flows)
    return why ? [{path: [at], message: describeUnfit(module, field!, why)}] : []
  }),
]

const findMapping = ({module, fields: mappings}: MappedFlow, fields: IdempotencyFields) =>
  mappings.findIndex(({field, mode}) => mode !== 'skip' && field === fields.get(module))

const describeMapped = (module: string, fields: IdempotencyFields) =>
  `${module}.${fields.get(module)} is the module's idempotency field, which imports fill themselves. Remove its mapping, or change the module's settings`

type RegistryChange = {before: Registry; after: Registry; replaced?: readonly string[] | undefined}

/**
 * Refuses an edit of the registry that sets an idempotency field which does not fit or which a stored flow maps. `replaced`: names of shared
 * templates whose new flows map no idempotency field; their stored flows do not count.
 */
export const assertIdempotencyFields = async (tx: Tx, org: string, {before, after, replaced = []}: RegistryChange): Promise<void> => {
  const isSet = (module: RegistryModule) => {
    const same = before.modules.find(one => one.key === module.key)
    const isKept = isOneModule(module, same) && same!.idempotencyField === module.idempotencyField
    return module.idempotencyField != null && !isKept
  }
  for (const {apiName: module, connectorId: connector, idempotencyField: field} of after.modules.filter(isSet)) {
    const why = findUnfit(await findDiscoveredModule(tx, {connector, module}), field!)
    if (why) throw new Refusal('FIELD_NOT_UNIQUE', describeUnfit(module, field!, why))
    const [use] = await listUsesOfField(tx, {org, connector, module, field: field!, replaced, limit: 1})
    if (use)
      throw new Refusal(
        'FIELD_MAPPED',
        `The ${use.kind} "${use.name}" maps ${module}.${field}. Remove that mapping, or choose a field that no import maps`,
      )
  }
}
