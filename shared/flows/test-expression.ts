import type {Pool} from '../../sql/database.ts'
import {listLibraryRows} from '../../sql/libraries.ts'
import {findSettings} from '../../sql/registry.ts'
import {readTargets} from '../ai/targets.ts'
import {type Tried, tryExpression} from '../ai/try-expression.ts'
import {Refusal} from '../errors.ts'
import {usualSettings} from '../registry/settings.ts'
import {shapeLibrary} from './libraries.ts'

type Test = {
  org: string
  connectorId?: string | undefined
  expression: string
  columns: string[]
  rows: readonly Record<string, string>[]
  /** The column whose cell is `value`. */
  source: string | null
  /** Whether this field takes what comes out is told too. */
  target: {module: string; field: string} | null
  signal: AbortSignal
}
type Tested = {compiles: boolean; issue: {message: string; line: number | null; column: number | null} | null; results: Tried[]}

/** What an expression gives on rows a member sends, with the org's libraries and context: the rows are theirs, so nothing is masked. */
export const testExpression = async (db: Pool, {org, connectorId, expression, target, ...place}: Test): Promise<Tested> => {
  const libraries = (await listLibraryRows(db, org)).map(shapeLibrary)
  const {expressionContext: context} = (await findSettings(db, org)) ?? usualSettings
  const field = target && (await findField(db, {org, connectorId, ...target}))
  const outcome = await tryExpression(expression, {...place, field, libraries, context})
  if ('tried' in outcome) return {compiles: true, issue: null, results: outcome.tried}
  const {message, line = null, column = null} = outcome.issue
  return {compiles: false, issue: {message, line, column}, results: []}
}

type Named = {org: string; connectorId: string | undefined; module: string; field: string}

const findField = async (db: Pool, {org, connectorId, module, field}: Named) => {
  const {targets, closed} = await readTargets(db, {org, connectorId, modules: [module]})
  const found = [...targets, ...closed].find(one => one.field.apiName === field)
  if (!found) throw new Refusal('INVALID', `${module} has no field ${field}: GET …/config/fields/${module} lists them`)
  return found.field
}
