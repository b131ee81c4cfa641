import {z} from 'zod'
import {assertSample, recordsOf, sampleShape} from '../../shared/assistant/sample.ts'
import {ApiName} from '../../shared/configuration/annotation.ts'
import {describeHelpers} from '../../shared/expressions/helper-words.ts'
import {LIMITS} from '../../shared/expressions/limits.ts'
import {testExpression} from '../../shared/mapping/flows/test-expression.ts'
import {Answer, Json} from '../answers/common.ts'
import {holdTrial} from '../keyed-limiter.ts'
import {route} from '../route.ts'

const Place = {
  line: z.int().nullable().describe('Line in the expression, from 1. Null: unknown'),
  column: z.int().nullable().describe('Column in the line, from 1. Null: unknown'),
}

const Row = z.int().positive().describe('Number of the sample row, from 1')

const Tried = z.union([
  Answer({
    row: Row,
    value: Json('The result. Absent if it is `undefined`').optional(),
    problem: Answer({
      code: z.string().describe('The code a run would use, such as `INVALID_VALUE`'),
      message: z.string().describe('What the field accepts instead'),
    })
      .nullable()
      .describe('Why the field does not accept the result. Null: it does, or no field was given'),
  }),
  Answer({
    row: Row,
    error: Answer({
      code: z.string().describe('Such as `EXPRESSION_THROWN`'),
      message: z.string().describe('What went wrong'),
      ...Place,
    }).describe('Why there is no result'),
  }),
])

const ExpressionTest = Answer({
  compiles: z.boolean().describe('Whether the expression compiles'),
  issue: Answer({message: z.string().describe('The compilation error'), ...Place})
    .nullable()
    .describe('Why it does not compile. Null: it does'),
  results: z.array(Tried).describe('One entry per row, in order. Empty if it does not compile'),
}).meta({id: 'ExpressionTest', description: 'Results of an expression on sample rows'})

const ExpressionHelpers = Answer({
  helpers: z
    .array(
      Answer({
        name: z.string().describe('The name, called as `helpers.name`'),
        call: z.string().meta({description: 'How it is called', examples: ["split(text, separator = ',', at?)"]}),
        description: z.string().describe('What it does, in words'),
      }),
    )
    .describe('All helpers'),
})

const Asked = z
  .strictObject({
    expression: z.string().min(1).max(LIMITS.sourceChars).describe('A JavaScript expression, as used in a mapping'),
    ...sampleShape,
    source: z.string().nullish().describe('The column that the expression reads as `value`'),
    connectorId: z.string().max(100).optional().describe('The connection. Required only if several have the module'),
    module: ApiName.optional().describe('With `field`: also checks whether the field accepts the result'),
    field: ApiName.optional().describe('API name of a field of `module`'),
  })
  .superRefine((body, context) => {
    assertSample(body, context)
    if (body.source != null && !body.columns.includes(body.source))
      context.addIssue({code: 'custom', path: ['source'], message: 'This column is not in `columns`'})
    if ((body.module === undefined) !== (body.field === undefined))
      context.addIssue({code: 'custom', path: ['field'], message: 'Send both `module` and `field`, or neither'})
  })

export default [
  route({
    method: 'get',
    path: '/orgs/:org/expressions/helpers',
    operationId: 'listExpressionHelpers',
    tag: 'Expressions',
    access: {role: 'operator'},
    summary: 'List the built-in helpers of expressions',
    answers: {200: ExpressionHelpers},
    refusals: [],
    example: {answer: {helpers: [{name: 'upper', call: 'upper(text)', description: 'JÜRGEN.'}]}},
    handle: () => ({helpers: describeHelpers()}),
  }),

  route({
    method: 'post',
    path: '/orgs/:org/expressions/test',
    operationId: 'testExpression',
    tag: 'Expressions',
    access: {role: 'operator'},
    effect: 'read',
    summary: 'Test an expression on sample rows',
    description: `Compiles the expression as a flow would and runs it in the sandbox on the rows sent, with the org's libraries and expression context. Nothing is
stored. The time limit for all rows together is five seconds.`,
    answers: {200: ExpressionTest},
    refusals: ['BUSY', 'INVALID', 'MODULE_NOT_FOUND', 'CONNECTION_REQUIRED', 'CONNECTION_NOT_FOUND', 'NO_DISCOVERY'],
    example: {
      body: {expression: 'helpers.upper(row.City)', columns: ['City'], rows: [['Bern'], ['Lyon']]},
      answer: {
        compiles: true,
        issue: null,
        results: [
          {row: 1, value: 'BERN', problem: null},
          {row: 2, value: 'LYON', problem: null},
        ],
      },
    },
    params: z.object({org: z.string()}),
    body: Asked,
    async handle({db, caller: {org}, body, request: {signal}}) {
      const {expression, connectorId, columns, source = null, module, field} = body
      const target = module !== undefined && field !== undefined ? {module, field} : null
      const asked = {org, connectorId, expression, columns, rows: recordsOf(body), source, target, signal}
      return holdTrial(org, () => testExpression(db, asked))
    },
  }),
]
