import type {Db} from '../../sql/database.ts'
import {listLibraryRows} from '../../sql/libraries.ts'
import {parseExpression} from '../expressions/parse.ts'
import type {Flow} from '../mapping/flows/flow.ts'
import {namespacesOf, shapeLibrary} from '../mapping/flows/libraries.ts'
import type {MappingTarget} from './targets.ts'

export type PersonalColumnTest = (column: string) => boolean

type PersonalColumnsInput = {org: string; personal: readonly MappingTarget[]; flows: readonly Flow[]}

/**
 * Returns a test that finds the personal columns of an import's flows. A column is personal if a flow writes it to a personal field,
 * directly or through an expression. An expression whose columns cannot be determined makes every column personal.
 */
export const readPersonalColumns = async (db: Db, {org, personal, flows}: PersonalColumnsInput): Promise<PersonalColumnTest> => {
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

export const fieldTest = (personal: readonly MappingTarget[]) => {
  const known = new Set(personal.map(({module, field}) => `${module} ${field.apiName}`))
  return (module: string | null, field: string | null) => known.has(`${module} ${field}`)
}
