import {z} from 'zod'
import {assertSample, recordsOf, sampleShape} from '../../shared/ai/sample.ts'
import {LIMITS} from '../../shared/expressions/limits.ts'
import {testExpression} from '../../shared/flows/test-expression.ts'
import {ApiName} from '../../shared/registry/annotation.ts'
import {ExpressionTest} from '../answers/expressions.ts'
import {route} from '../route.ts'
import {holdTrial} from '../shares.ts'

const Asked = z
  .strictObject({
    expression: z.string().min(1).max(LIMITS.sourceChars).describe('A JavaScript expression, as a mapping has it'),
    ...sampleShape,
    source: z.string().nullish().describe('The column whose cell is `value`'),
    connectorId: z.string().max(100).optional().describe('The connection whose module is meant, where several have it'),
    module: ApiName.optional().describe('With `field`: also says whether that field takes what comes out'),
    field: ApiName.optional().describe('API name of a field of `module`'),
  })
  .superRefine((body, context) => {
    assertSample(body, context)
    if (body.source != null && !body.columns.includes(body.source))
      context.addIssue({code: 'custom', path: ['source'], message: 'This is none of the columns'})
    if ((body.module === undefined) !== (body.field === undefined))
      context.addIssue({code: 'custom', path: ['field'], message: 'Name the module and the field, or neither'})
  })

export default [
  route({
    method: 'post',
    path: '/orgs/:org/expressions/test',
    access: {role: 'operator'},
    effect: 'read',
    summary: 'Try an expression on sample rows',
    description: `Compiles the expression as a flow would and runs it in the sandbox over the rows that are sent, with the org's libraries and expression
context. Nothing is kept. All rows together have five seconds.`,
    answers: {200: ExpressionTest},
    refusals: ['BUSY', 'INVALID', 'MODULE_NOT_FOUND', 'CONNECTION_REQUIRED', 'CONNECTION_NOT_FOUND', 'NO_DISCOVERY'],
    example: {
      body: {expression: 'helpers.upper(row.City)', columns: ['City'], rows: [['Bern'], ['Lyon']]},
      answer: {
        ...{compiles: true, issue: null},
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
