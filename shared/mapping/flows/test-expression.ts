import type {Pool} from '../../../sql/database.ts'
import {listLibraryRows} from '../../../sql/libraries.ts'
import {findSettings} from '../../../sql/registry.ts'
import {readTargets} from '../../assistant/targets.ts'
import {type TriedRow, tryExpression} from '../../assistant/try-expression.ts'
import {usualSettings} from '../../configuration/settings.ts'
import {Refusal} from '../../errors.ts'
import {shapeLibrary} from './libraries.ts'

type Test = {
  org: string
  connectorId?: string | undefined
  expression: string
  columns: string[]
  rows: readonly Record<string, string>[]
  /** The column whose cell the expression reads as `value`; null: none. */
  source: string | null
  /** The field against which the results are checked; null: none. */
  target: {module: string; field: string} | null
  signal: AbortSignal
}
type TestedExpression = {
  compiles: boolean
  issue: {message: string; line: number | null; column: number | null} | null
  results: TriedRow[]
}

/** The results are not masked, because the member sent the rows. */
export const testExpression = async (db: Pool, {org, connectorId, expression, target, ...place}: Test): Promise<TestedExpression> => {
  const libraries = (await listLibraryRows(db, org)).map(shapeLibrary)
  const settings = (await findSettings(db, org)) ?? usualSettings
  const field = target && (await findField(db, {org, connectorId, ...target}))
  const outcome = await tryExpression(expression, {...place, field, libraries, settings})
  if ('tried' in outcome) return {compiles: true, issue: null, results: outcome.tried}
  const {message, line = null, column = null} = outcome.issue
  return {compiles: false, issue: {message, line, column}, results: []}
}

type FieldRef = {org: string; connectorId: string | undefined; module: string; field: string}

const findField = async (db: Pool, {org, connectorId, module, field}: FieldRef) => {
  const {targets, closed} = await readTargets(db, {org, connectorId, modules: [module]})
  const found = [...targets, ...closed].find(one => one.field.apiName === field)
  if (!found) throw new Refusal('INVALID', `${module} has no field ${field}. GET …/config/fields/${module} lists its fields`)
  return found.field
}
