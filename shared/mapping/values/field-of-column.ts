import type {Db} from '../../../sql/database.ts'
import {findDiscoveredModule} from '../../../sql/discoveries.ts'
import {Refusal} from '../../errors.ts'
import type {FieldShape} from '../flows/converted.ts'
import {conversionTypeOf} from '../flows/field-types.ts'

export const findFieldOfColumn = async (
  db: Db,
  {connector, module: name, field: apiName}: {connector: string; module: string; field: string},
): Promise<FieldShape> => {
  const module = await findDiscoveredModule(db, {connector, module: name})
  if (!module) throw new Refusal('MODULE_NOT_FOUND', `The connection's discovery has no module ${name}. Check the name, or run a discovery`)
  const field = module.fields.find(one => one.apiName === apiName)
  if (!field) throw new Refusal('FIELD_NOT_FOUND', `${name} has no field ${apiName}. Check the name, or run a discovery`)
  const {length, picklist} = field
  return {apiName, type: conversionTypeOf(field), length, picklist}
}
