import type {Db} from '../../sql/database.ts'
import {listLibraryRows} from '../../sql/libraries.ts'
import {parseExpression} from '../expressions/parse.ts'
import type {Flow} from '../flows/flow.ts'
import {namespacesOf, shapeLibrary} from '../flows/libraries.ts'
import type {Target} from './targets.ts'

/** Whether a column of a file feeds a personal field. */
export type PersonalColumnTest = (column: string) => boolean

type Asked = {org: string; personal: readonly Target[]; flows: readonly Flow[]}

/**
 * Tests columns against an import's flows: a column is personal if a flow writes it to a personal field, directly or through an expression. An
 * expression whose columns cannot be known makes every column personal.
 */
export const readPersonalColumns = async (db: Db, {org, personal, flows}: Asked): Promise<PersonalColumnTest> => {
  const isPersonal = fieldTest(personal)
  const mappings = flows.flatMap(({module, fields}) => fields.filter(({field}) => isPersonal(module, field)))
  const expressions = mappings.flatMap(({transform, searchExpression}) => [transform, searchExpression].filter(text => text != null))
  const namespaces = expressions.length > 0 ? namespacesOf((await listLibraryRows(db, org)).map(shapeLibrary)) : {}
  const read = expressions.map(expression => {
    const result = parseExpression(expression, {namespaces})
    return result.ok ? result.parsed.fields : null
  })
  if (read.includes(null)) return () => true
  const columns = new Set([...mappings.map(({source}) => source), ...read.flat()])
  return column => columns.has(column)
}

export const fieldTest = (personal: readonly Target[]) => {
  const known = new Set(personal.map(({module, field}) => `${module} ${field.apiName}`))
  return (module: string | null, field: string | null) => known.has(`${module} ${field}`)
}
