import type {CrmRecord} from '../../../shared/crm/crm.ts'
import {conversionTypeOf} from '../../../shared/mapping/flows/field-types.ts'
import type {FieldValues} from '../../../shared/runs/undo/before-image.ts'
import type {Db} from '../../../sql/database.ts'
import {findDiscoveredModule} from '../../../sql/discoveries.ts'
import {type ComparedField, formOf, isComparable} from '../match/compare-values.ts'

/** Lists the fields of a subform's rows that can be compared and written again, by the newest discovery. */
export const listRowFields = async (db: Db, {connector, module}: {connector: string; module: string}): Promise<ComparedField[]> => {
  const found = await findDiscoveredModule(db, {connector, module})
  return (found?.fields ?? [])
    .filter(({apiName, creatable, readOnly}) => creatable && !readOnly && apiName !== 'Parent_Id')
    .map(field => ({...field, type: conversionTypeOf(field)}))
    .filter(isComparable)
}

/** Returns the values of rows that the CRM shows and that can be written again, without ids. */
export const valuesOfRows = (fields: readonly ComparedField[], rows: readonly CrmRecord[]): FieldValues[] =>
  rows.map(row => Object.fromEntries(fields.flatMap(({apiName}) => (apiName in row ? [[apiName, row[apiName] ?? null]] : []))))

/** Whether the rows have the expected values, row by row. Undefined if a value cannot be compared and no other value differs. */
export const holdRows = (
  fields: readonly ComparedField[],
  rows: readonly CrmRecord[],
  expected: readonly FieldValues[],
): boolean | undefined => {
  if (rows.length !== expected.length) return false
  const equal = expected.flatMap((values, at) =>
    Object.keys(values).map(name => {
      const field = fields.find(({apiName}) => apiName === name)
      const forms = field && name in rows[at]! ? [formOf(field, values[name]), formOf(field, rows[at]![name])] : []
      return forms.length === 0 || forms.includes(undefined) ? undefined : forms[0] === forms[1]
    }),
  )
  return equal.includes(false) ? false : equal.includes(undefined) ? undefined : true
}
