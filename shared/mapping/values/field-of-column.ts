import type {Db} from '../../../sql/database.ts'
import {findDiscoveredModule} from '../../../sql/discoveries.ts'
import {Refusal} from '../../errors.ts'
import type {FieldShape} from '../flows/converted.ts'
import {conversionTypeOf} from '../flows/field-types.ts'
import type {Flow} from '../flows/flow.ts'

type FieldName = {module: string; field: string}

/** Throws unless a flow of the import maps the field. The error equals that of an unknown field. */
export const assertMapped = (flows: unknown[], {module, field}: FieldName): void => {
  const isMapped = (flows as Flow[]).some(flow => flow.module === module && flow.fields.some(one => one.field === field))
  if (!isMapped) throw unknownField({module, field})
}

export const findFieldOfColumn = async (
  db: Db,
  {connector, module: name, field: apiName}: FieldName & {connector: string},
): Promise<FieldShape> => {
  const module = await findDiscoveredModule(db, {connector, module: name})
  if (!module) throw new Refusal('MODULE_NOT_FOUND', `The connection's discovery has no module ${name}. Check the name, or run a discovery`)
  const field = module.fields.find(one => one.apiName === apiName)
  if (!field) throw unknownField({module: name, field: apiName})
  const {length, picklist} = field
  return {apiName, type: conversionTypeOf(field), length, picklist}
}

const unknownField = ({module, field}: FieldName) =>
  new Refusal('FIELD_NOT_FOUND', `${module} has no field ${field}. Check the name, or run a discovery`)
