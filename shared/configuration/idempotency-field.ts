import type {Db, Tx} from '../../sql/database.ts'
import {findDiscoveredModule} from '../../sql/discoveries.ts'
import {listIdempotencyFields, listUsesOfField} from '../../sql/idempotency.ts'
import type {DiscoveredModule} from '../crm/discovered.ts'
import {Refusal} from '../errors.ts'
import {isOneModule} from './diff.ts'
import type {Registry, RegistryModule} from './document.ts'

/** The length of an idempotency value. */
export const idempotencyLength = 26

/** Idempotency fields by module. */
export type IdempotencyFields = ReadonlyMap<string, string>

/** Reads the idempotency fields of a connection's modules. */
export const readIdempotencyFields = async (db: Db, connection: {org: string; connector: string}): Promise<IdempotencyFields> =>
  new Map((await listIdempotencyFields(db, connection)).map(({module, field}) => [module, field]))

/**
 * Returns why the field cannot hold the values that make every create of the module recoverable, or null if it can. `module` is the newest
 * discovery of the module, or null if it has none.
 */
export const findUnfit = (module: DiscoveredModule | null, name: string): string | null => {
  const field = module?.fields.find(({apiName}) => apiName === name)
  if (!module || !field) return 'the CRM does not have it'
  if (module.kind === 'subform') return 'rows of a subform are sent with their record'
  if (field.type !== 'text') return `its type is ${field.type}, and text is needed`
  if (field.length !== null && field.length < idempotencyLength)
    return `it holds ${field.length} characters, and ${idempotencyLength} are needed`
  if (!field.unique) return 'it does not refuse duplicate values'
  return field.creatable && !field.readOnly ? null : 'a create cannot set it'
}

/** Refuses the fields that can no longer hold idempotency values. */
export const assertFit = (modules: ReadonlyMap<string, DiscoveredModule>, fields: Iterable<readonly [module: string, field: string]>) => {
  for (const [module, field] of fields) {
    const why = findUnfit(modules.get(module) ?? null, field)
    if (why) throw new Refusal('FIELD_NOT_UNIQUE', describeUnfit(module, field, why))
  }
}

export const describeUnfit = (module: string, field: string, why: string) =>
  `${module}.${field} cannot be the idempotency field: ${why}. Correct the field in the CRM and run a discovery, or choose another field in the module's settings`

type MappedFlow = {module: string; fields: readonly {field: string}[]}

/** Refuses flows that map an idempotency field, because imports fill it themselves. */
export const assertUnmapped = (flows: readonly MappedFlow[], fields: IdempotencyFields) => {
  const mapped = flows.find(flow => flow.fields.some(({field}) => field === fields.get(flow.module)))
  if (!mapped) return
  const name = `${mapped.module}.${fields.get(mapped.module)}`
  throw new Refusal(
    'FIELD_MAPPED',
    `${name} is the module's idempotency field, which imports fill themselves. Remove its mapping, or change the module's settings`,
  )
}

/** Refuses an edit of the registry that sets an idempotency field which does not fit or which a stored flow maps. */
export const assertIdempotencyFields = async (tx: Tx, org: string, before: Registry, after: Registry): Promise<void> => {
  const isSet = (module: RegistryModule) => {
    const same = before.modules.find(one => one.key === module.key)
    const isKept = isOneModule(module, same) && same!.idempotencyField === module.idempotencyField
    return module.idempotencyField != null && !isKept
  }
  for (const {apiName: module, connectorId: connector, idempotencyField: field} of after.modules.filter(isSet)) {
    const why = findUnfit(await findDiscoveredModule(tx, {connector, module}), field!)
    if (why) throw new Refusal('FIELD_NOT_UNIQUE', describeUnfit(module, field!, why))
    const [use] = await listUsesOfField(tx, {org, connector, module, field: field!, limit: 1})
    if (use)
      throw new Refusal(
        'FIELD_MAPPED',
        `The ${use.kind} "${use.name}" maps ${module}.${field}. Remove that mapping, or choose a field that no import maps`,
      )
  }
}
