import {z} from 'zod'
import {openOutputMask} from '../../shared/assistant/chat/output-mask.ts'
import {judgeColumns} from '../../shared/assistant/local-mapping.ts'
import {outgoingRows} from '../../shared/assistant/outgoing-rows.ts'
import {readPersonalFields} from '../../shared/assistant/personal-fields.ts'
import {readSamplePolicy} from '../../shared/assistant/sample-masking.ts'
import {readTargets} from '../../shared/assistant/targets.ts'
import {tryExpression} from '../../shared/assistant/try-expression.ts'
import {usualSettings} from '../../shared/configuration/settings.ts'
import {loadRegistry} from '../../shared/configuration/store.ts'
import {Refusal} from '../../shared/errors.ts'
import {shapeLibrary} from '../../shared/mapping/flows/libraries.ts'
import {listLibraryRows} from '../../sql/libraries.ts'
import {findSettings, readAtOnce} from '../../sql/registry.ts'
import {holdTrial} from '../keyed-limiter.ts'
import type {McpInput} from './mount.ts'
import {columnsOf, fillRows, SampleRows, sampledOf} from './sample.ts'
import {tool} from './tool.ts'

const Fault = z.object({
  code: z.string(),
  message: z.string(),
  line: z.number().nullable().optional(),
  column: z.number().nullable().optional(),
})

const Asked = z
  .strictObject({
    expression: z.string().min(1).max(10_000),
    rows: SampleRows.refine(rows => rows.length > 0, 'Send at least one row').describe('Up to 20 sample rows, as objects keyed by column'),
    value: z.string().max(500).optional().describe('The column that the expression reads as `value`'),
    module: z.string().max(200).optional().describe('With `field`: also checks whether the field accepts the result'),
    field: z.string().max(200).optional().describe('With `module`: the field that must accept the result. Send both or neither'),
    connector: z.string().max(100).optional(),
  })
  .refine(({module, field}) => (module === undefined) === (field === undefined), 'Send both `module` and `field`, or neither')

/**
 * Tests an expression on sample rows, without reading files of the org. Personal data is masked before the expression runs, because the result goes
 * to a model, and the mask would not recognise a value that the expression changed.
 */
export const testExpression = tool({
  name: 'test_expression',
  title: 'Test an expression',
  description:
    'Compiles a JavaScript mapping expression and runs it in the sandbox on the given sample rows, with the helpers and libraries of the organisation. `row` is the row, `value` the cell of the named column. Personal data is replaced by shapes (A, a and 9 for letters and digits). If the organisation shares no samples, the expression is only compiled.',
  input: Asked,
  output: z.object({
    compiles: z.boolean(),
    issue: z.object({message: z.string(), line: z.number().nullable(), column: z.number().nullable()}).nullable(),
    results: z.array(
      z.object({
        row: z.int(),
        value: z.unknown().optional(),
        problem: Fault.nullable().optional().describe('Why the field does not accept the value'),
        error: Fault.optional().describe('Why there is no value'),
      }),
    ),
  }),
  async run(input, {expression, rows, value, ...named}, signal) {
    const {db, caller} = input
    const columns = columnsOf(rows)
    if (value !== undefined && !columns.includes(value))
      throw new Refusal('INVALID', 'No row has the column given in `value`. Send a column of the rows')
    const libraries = (await listLibraryRows(db, caller.org)).map(shapeLibrary)
    const settings = (await findSettings(db, caller.org)) ?? usualSettings
    const {leaving, out} = await readLeaving(input, columns, fillRows(columns, rows))
    const nameOf = (column: string) => out.columns[columns.indexOf(column)]!.name
    const source = value === undefined ? null : nameOf(value)
    const place = {columns: columns.map(nameOf), rows: leaving, source, field: await findField(input, named), libraries, settings}
    const outcome = await holdTrial(caller.org, () => tryExpression(expression, {...place, signal}))
    if ('tried' in outcome) return {compiles: true, issue: null, results: out.value(outcome.tried) as typeof outcome.tried}
    const {message, line = null, column = null} = outcome.issue
    return {compiles: false, issue: {message: out.text(message), line, column}, results: []}
  },
})

const readLeaving = async ({db, parsing, caller: {org}}: McpInput, columns: string[], rows: Record<string, string>[]) =>
  readAtOnce(db, async tx => {
    const personal = await readPersonalFields(tx, org, await loadRegistry(tx, org))
    const judged = await judgeColumns({parsing, org}, sampledOf(columns, rows), {personal}, [])
    const out = await openOutputMask(await readSamplePolicy(tx, org), judged)
    return {leaving: outgoingRows(rows, judged, out), out}
  })

type FieldRef = Pick<z.output<typeof Asked>, 'module' | 'field' | 'connector'>

const findField = async ({db, caller: {org}}: McpInput, {module, field, connector}: FieldRef) => {
  if (module === undefined || field === undefined) return null
  const {targets, closed} = await readTargets(db, {org, connectorId: connector, modules: [module]})
  const found = [...targets, ...closed].find(one => one.field.apiName === field)
  if (!found) throw new Refusal('INVALID', `${module} has no field ${field}. get_fields lists the fields`)
  return found.field
}
