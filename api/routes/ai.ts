import {z} from 'zod'
import {autoMap} from '../../shared/assistant/auto-map.ts'
import {assertPlaced, placedQuestionOf, questionPlaceShape} from '../../shared/assistant/conversations/placed-question.ts'
import {writeFormula} from '../../shared/assistant/formula.ts'
import {assertSample, recordsOf, sampleShape, samplesOf} from '../../shared/assistant/sample.ts'
import {readAiUsage} from '../../shared/assistant/usage.ts'
import {ApiName, listOf} from '../../shared/configuration/annotation.ts'
import {listAiDays} from '../../sql/ai-usage.ts'
import {limitOf} from '../paging.ts'
import {ofNaming} from '../params.ts'
import {ofModel, ofPlace} from '../refusal-lists.ts'
import {route} from '../route.ts'
import {AiDays, AiUsage, AutoMapped, autoMapExample, Formula, formulaExample, usageExample} from './ai.answers.ts'

const connectorId = z
  .string()
  .max(100)
  .optional()
  .describe('The connection. Default: the connection of the import, or the only one that has the module')

const MapBody = z
  .strictObject({
    connectorId,
    modules: listOf(ApiName, {most: 5, least: 1}).describe('The modules to write to'),
    useModel: z.boolean().default(true).describe('`false` asks no AI model, so the request costs nothing'),
    ...questionPlaceShape,
    ...sampleShape,
  })
  .superRefine((body, context) => {
    assertPlaced(body, context)
    assertSample(body, context)
  })

const FormulaBody = z
  .strictObject({
    connectorId,
    module: ApiName.describe('The module'),
    field: ApiName.describe('API name of the field to fill'),
    question: z.string().trim().min(1).max(4000).describe('The wanted result, in words'),
    source: z.string().nullish().describe('The column that the expression reads as `value`, or null'),
    ...questionPlaceShape,
    ...sampleShape,
  })
  .superRefine((body, context) => {
    assertPlaced(body, context)
    assertSample(body, context)
    if (body.source != null && !body.columns.includes(body.source))
      context.addIssue({code: 'custom', path: ['source'], message: 'This column is not in `columns`'})
  })

/** A turn of a conversation about an import is stored in the transaction that settles the cost of the turn. */
export default [
  route({
    method: 'post',
    path: '/ai/auto-map',
    operationId: 'autoMap',
    tag: 'AI help',
    access: {role: 'operator'},
    effect: 'money',
    summary: 'Propose a field for every column',
    description:
      'Matches columns by names, values and earlier imports of the org. Up to twelve unmatched columns are sent to the AI model, if one is configured and AI credits are left. If the model fails, the other proposals are returned and nothing is charged. Sample data is masked as the settings of the org require.',
    answers: {200: AutoMapped},
    refusals: [...ofPlace, ...ofNaming, 'NO_DISCOVERY'],
    example: {
      body: {modules: ['Leads'], columns: ['Name', 'E-mail'], rows: [['Ana Example', 'ana@example.org']]},
      answer: autoMapExample,
    },
    body: MapBody,
    handle({caller, body, request: {signal}, ...tools}) {
      const {connectorId, modules, useModel} = body
      return autoMap(tools, {...placedQuestionOf(caller, body), connectorId, modules, useModel, columns: samplesOf(body), signal})
    },
  }),

  route({
    method: 'post',
    path: '/ai/formula',
    operationId: 'writeFormula',
    tag: 'AI help',
    access: {role: 'operator'},
    effect: 'money',
    summary: 'Write an expression for a field',
    description:
      'The expression is compiled and run on the rows sent before it is returned. The model gets at most three attempts. If no expression compiles and works for at least one row, the request is refused and costs nothing.',
    answers: {200: Formula},
    refusals: [...ofPlace, ...ofNaming, 'NO_DISCOVERY', ...ofModel, 'SANDBOX_UNAVAILABLE', 'BUSY'],
    example: {
      body: {
        module: 'Leads',
        field: 'Last_Name',
        question: 'The last word of the name',
        source: 'Name',
        columns: ['Name', 'E-mail'],
        rows: [['Ana Example', 'ana@example.org']],
      },
      answer: formulaExample,
    },
    body: FormulaBody,
    handle({caller, body, request: {signal}, ...tools}) {
      const {connectorId, module, field, question, source = null} = body
      const sample = {columns: samplesOf(body), rows: recordsOf(body)}
      return writeFormula(tools, {...placedQuestionOf(caller, body), connectorId, module, field, question, source, ...sample, signal})
    },
  }),

  route({
    method: 'get',
    path: '/ai/usage',
    operationId: 'readAiUsage',
    tag: 'AI help',
    access: {role: 'operator'},
    summary: 'Read the AI credits used in this period',
    answers: {200: AiUsage},
    refusals: [],
    example: {answer: usageExample},
    handle: ({db, caller: {org}}) => readAiUsage(db, org),
  }),

  route({
    method: 'get',
    path: '/ai/admin/usage',
    operationId: 'readModelUsage',
    tag: 'Plans by staff',
    access: {backoffice: true},
    summary: 'Read AI usage by day',
    description: 'For one org, or for all orgs together.',
    answers: {200: AiDays},
    refusals: [],
    example: {
      query: {days: '31'},
      answer: {
        usage: [{day: '2026-03-01', feature: 'chat', requests: 12, failed: 1, inputTokens: 30_000, outputTokens: 4_000, credits: 14}],
      },
    },
    query: z.object({org: z.string().optional().describe('The org. Default: all orgs together'), days: limitOf({usual: 31, most: 400})}),
    handle: async ({db, query: {org = null, days}}) => ({usage: await listAiDays(db, {org, days})}),
  }),
]
