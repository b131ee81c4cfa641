import {z} from 'zod'
import {openOutflow} from '../../shared/ai/chat/outflow.ts'
import {judgeColumns} from '../../shared/ai/local-mapping.ts'
import {readSamplePolicy} from '../../shared/ai/outgoing.ts'
import {outgoingRows} from '../../shared/ai/outgoing-rows.ts'
import {readPersonalFields} from '../../shared/ai/personal-fields.ts'
import {readTargets} from '../../shared/ai/targets.ts'
import {tryExpression} from '../../shared/ai/try-expression.ts'
import {Refusal} from '../../shared/errors.ts'
import {shapeLibrary} from '../../shared/flows/libraries.ts'
import {usualSettings} from '../../shared/registry/settings.ts'
import {loadRegistry} from '../../shared/registry/store.ts'
import {listLibraryRows} from '../../sql/libraries.ts'
import {findSettings, readAtOnce} from '../../sql/registry.ts'
import {holdTrial} from '../shares.ts'
import type {McpInput} from './mount.ts'
import {columnsOf, fillRows, SampleRows, sampledOf} from './sample.ts'
import {tool} from './tool.ts'

const Fault = z.object({
  code: z.string(),
  message: z.string(),
  line: z.number().nullable().optional(),
  column: z.number().nullable().optional(),
})

const Asked = z.strictObject({
  expression: z.string().min(1).max(10_000),
  rows: SampleRows.refine(rows => rows.length > 0, 'At least one row').describe('Up to 20 sample rows, each by its columns'),
  value: z.string().max(500).optional().describe('The column whose cell is `value`'),
  module: z.string().max(200).optional().describe('With `field`: also says whether that field takes what comes out'),
  field: z.string().max(200).optional(),
  connector: z.string().max(100).optional(),
})

/**
 * What comes out goes to a program that a model reads, so that the rows are those that may leave: what an expression makes of a personal cell would
 * be no shape of it any more. Nothing of the org's files is read for it.
 */
export const testExpression = tool({
  name: 'test_expression',
  title: 'Test an expression',
  description:
    'Compiles a JavaScript mapping expression and runs it in the sandbox over the sample rows given here, with the helpers and libraries of the organisation. `row` is the row, `value` the cell of the named column. Cells of personal data are replaced by shapes (A, a and 9 for letters and digits); where no samples may leave it only compiles.',
  input: Asked,
  output: z.object({
    compiles: z.boolean(),
    issue: z.object({message: z.string(), line: z.number().nullable(), column: z.number().nullable()}).nullable(),
    results: z.array(
      z.object({
        row: z.int(),
        value: z.unknown().optional(),
        problem: Fault.nullable().optional().describe('Why the field would not take the value'),
        error: Fault.optional().describe('Why there is no value'),
      }),
    ),
  }),
  async run(input, {expression, rows, value, ...named}, signal) {
    const {db, caller} = input
    const columns = columnsOf(rows)
    if (value !== undefined && !columns.includes(value)) throw new Refusal('INVALID', 'None of the rows has the column that `value` names')
    const libraries = (await listLibraryRows(db, caller.org)).map(shapeLibrary)
    const {expressionContext: context} = (await findSettings(db, caller.org)) ?? usualSettings
    const {leaving, out} = await readLeaving(input, columns, fillRows(columns, rows))
    const nameOf = (column: string) => out.columns[columns.indexOf(column)]!.name
    const source = value === undefined ? null : nameOf(value)
    const place = {columns: columns.map(nameOf), rows: leaving, source, field: await findField(input, named), libraries, context}
    const outcome = await holdTrial(caller.org, () => tryExpression(expression, {...place, signal}))
    if ('tried' in outcome) return {compiles: true, issue: null, results: out.value(outcome.tried) as typeof outcome.tried}
    const {message, line = null, column = null} = outcome.issue
    return {compiles: false, issue: {message: out.text(message), line, column}, results: []}
  },
})

const readLeaving = async ({db, caller: {org}}: McpInput, columns: string[], rows: Record<string, string>[]) =>
  readAtOnce(db, async tx => {
    const personal = await readPersonalFields(tx, org, await loadRegistry(tx, org))
    const judged = judgeColumns(sampledOf(columns, rows), {personal}, [])
    const out = openOutflow(await readSamplePolicy(tx, org), judged)
    return {leaving: outgoingRows(rows, judged, out), out}
  })

type Named = Pick<z.output<typeof Asked>, 'module' | 'field' | 'connector'>

const findField = async ({db, caller: {org}}: McpInput, {module, field, connector}: Named) => {
  if (module === undefined || field === undefined) return null
  const {targets} = await readTargets(db, {org, connectorId: connector, modules: [module]})
  const found = targets.find(one => one.field.apiName === field)
  if (!found) throw new Refusal('INVALID', `${module} has no field ${field} that can be written: get_fields lists them`)
  return found.field
}
