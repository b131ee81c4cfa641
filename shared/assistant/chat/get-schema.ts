import {z} from 'zod'
import type {Pool} from '../../../sql/database.ts'
import {describeFields} from '../../configuration/fields.ts'
import {describeModule} from '../../configuration/modules.ts'
import {chooseModule} from '../../configuration/name.ts'
import {isFillable} from '../../mapping/flows/value-issues.ts'
import {chatTool, takeFitting} from './tool.ts'

const mostOptions = 20

/**
 * Returns names, labels and types. Examples of annotations are not sent, because users copy them from their files. Options of personal
 * fields are not sent either. Fields that the settings exclude from imports are left out.
 */
export const getSchema = (db: Pool) =>
  chatTool({
    name: 'get_schema',
    description:
      'Lists the modules of the CRM connection, or the fields of one module with their labels and types. `readOnly`: no column can fill the field.',
    input: z.object({module: z.string().max(200).nullish().describe('The module. Null: list the modules')}),
    async run({registry, everything, connectorId}, {module}) {
      if (module == null) {
        const mine = everything.modules.filter(one => connectorId === undefined || one.connectorId === connectorId)
        const {some, more} = takeFitting(mine.map(describeModule).map(({apiName, label, enabled}) => ({module: apiName, label, enabled})))
        return {modules: some, more}
      }
      const known = chooseModule(everything, {name: module, connector: connectorId})
      const {some, more} = takeFitting(
        (await describeFields(db, registry, known, {all: false})).flatMap(one => ('type' in one && !one.excluded ? [describe(one)] : [])),
      )
      return {module: known.apiName, fields: some, more}
    },
  })

type DescribedField = Extract<Awaited<ReturnType<typeof describeFields>>[number], {type: string}>

const describe = (field: DescribedField) => {
  const {apiName, label, type, required, unique, picklist, lookup, annotation} = field
  const isPersonal = annotation?.pii === true
  const options = isPersonal ? [] : picklist.slice(0, mostOptions).map(({display}) => display.slice(0, 60))
  return {
    field: apiName,
    label,
    type,
    ...(required && {required}),
    ...(unique !== null && {unique: true}),
    ...(!isFillable(field) && {readOnly: true}),
    ...(lookup && {lookup: lookup.module}),
    ...(options.length > 0 && {options}),
    ...(isPersonal && {personal: true}),
    ...(annotation?.description && {description: annotation.description.slice(0, 200)}),
  }
}
