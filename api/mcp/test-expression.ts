import {z} from 'zod'
import {tryExpression} from '../../shared/ai/try-expression.ts'
import {tool} from './tool.ts'

const mostRows = 20
const mostColumns = 200
const Cell = z.union([z.string().max(10_000), z.number(), z.boolean(), z.null()])

const Result = z.object({
  row: z.int(),
  value: z.unknown().optional(),
  error: z.object({code: z.string(), message: z.string(), line: z.number().nullable(), column: z.number().nullable()}).optional(),
})

export const testExpression = tool({
  name: 'test_expression',
  title: 'Test an expression',
  description:
    'Compiles a JavaScript mapping expression and runs it in the sandbox over the sample rows given here, with the helpers and libraries of the organisation. `row` is the row, `value` the cell of the named column.',
  input: z.strictObject({
    expression: z.string().min(1).max(10_000),
    rows: z
      .array(z.record(z.string().max(1_000), Cell).refine(row => Object.keys(row).length <= mostColumns, `At most ${mostColumns} columns`))
      .min(1)
      .max(mostRows)
      .describe('Sample rows by column'),
    value: z.string().max(1_000).optional().describe('The column whose cell is `value`'),
  }),
  output: z.object({
    compiles: z.boolean(),
    issues: z.array(z.object({message: z.string(), line: z.number().optional(), column: z.number().optional()})),
    results: z.array(Result),
  }),
  async run({db, caller: {org}}, {expression, rows, value}, signal) {
    const {issues, results} = await tryExpression(db, {org, expression, rows, value, signal})
    return {compiles: issues.length === 0, issues, results: results.map((result, at) => ({row: at + 1, ...result}))}
  },
})
