import {z} from 'zod'
import type {Pool} from '../../../sql/database.ts'
import {listLibraryRows} from '../../../sql/libraries.ts'
import {Refusal} from '../../errors.ts'
import {shapeLibrary} from '../../mapping/flows/libraries.ts'
import {outgoingRows} from '../outgoing-rows.ts'
import {shapeOf} from '../shape.ts'
import {readTargets} from '../targets.ts'
import {type TriedRow, tryExpression} from '../try-expression.ts'
import type {ChatContext} from './context.ts'
import {chatTool, takeFitting} from './tool.ts'

const mostRows = 10
const mostCell = 60
const mostResult = 300

/**
 * Runs the expression on masked rows, because the result of an unmasked personal cell could not be masked afterwards. In the org's context, texts
 * become shapes, numbers 0 and booleans false.
 */
export const testExpression = (db: Pool) =>
  chatTool({
    name: 'test_expression',
    description:
      'Compiles a JavaScript mapping expression and runs it on sample rows. Personal cells and texts of `context` are replaced by shapes (A, a and 9 for letters and digits). If the settings allow no sample rows, the expression is only compiled.',
    input: z.object({
      expression: z.string().min(1).max(4_000),
      value: z.string().max(500).nullish().describe('The column whose cell is `value`'),
      module: z.string().max(200).nullish().describe('With `field`: also checks whether the field accepts the result'),
      field: z.string().max(200).nullish(),
    }),
    async run(context, {expression, value, module, field}, signal) {
      const {out, registry, judged, targets} = context
      const columns = out.columns.map(({name}) => name)
      if (value != null && !columns.includes(value))
        throw new Refusal('INVALID', 'The file has no such column. Use the exact name of a column')
      const target = module != null && field != null ? await findField(db, context, {module, field}) : null
      const libraries = (await listLibraryRows(db, context.org)).map(shapeLibrary)
      const rows = leavingRows(context)
      const settings = {...registry.settings, expressionContext: shapesIn(registry.settings.expressionContext)}
      const place = {columns, rows, source: value ?? null, field: target, libraries, settings, signal}
      const outcome = await tryExpression(expression, place)
      if ('issue' in outcome) {
        const {message, line, column} = outcome.issue
        return {compiles: false, issue: {message, line, column}}
      }
      // The user's file has no column with a masked name, so such an expression would read nothing.
      const isMasked = out.columns.some(({name}, at) => name !== judged[at]!.name && expression.includes(name))
      if (!isMasked) targets.push({kind: 'expression', module: module ?? null, field: field ?? null, expression})
      return {compiles: true, results: takeFitting(outcome.tried.map(describe)).some}
    },
  })

/** Errors are sent as codes and positions, because sandbox messages quote cells. */
const describe = (one: TriedRow) => {
  if ('error' in one) return {row: one.row, failed: one.error.code, line: one.error.line, column: one.error.column}
  return {row: one.row, value: cut(one.value), ...(one.problem && {notAcceptedByField: one.problem.code})}
}

const findField = async (db: Pool, {org, connectorId}: ChatContext, {module, field}: {module: string; field: string}) => {
  const {targets} = await readTargets(db, {org, connectorId, modules: [module]})
  const found = targets.find(one => one.field.apiName === field)
  if (!found) throw new Refusal('INVALID', 'The module has no such writable field. get_schema lists its fields')
  return found.field
}

const leavingRows = ({judged, rows, out}: ChatContext): Record<string, string>[] =>
  outgoingRows(rows.slice(0, mostRows), judged, out).map(row =>
    Object.fromEntries(Object.entries(row).map(([name, cell]) => [name, cell.slice(0, mostCell)])),
  )

const shapesIn = (value: unknown): unknown => {
  if (typeof value === 'string') return shapeOf(value)
  if (typeof value === 'number') return 0
  if (typeof value === 'boolean') return false
  if (Array.isArray(value)) return value.map(shapesIn)
  if (typeof value !== 'object' || value === null) return null
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, shapesIn(part)]))
}

const cut = (value: unknown) => {
  const text = JSON.stringify(value) ?? 'null'
  return text.length > mostResult ? `${text.slice(0, mostResult)}…` : value
}
