import {z} from 'zod'
import {autoMap} from '../../shared/ai/auto-map.ts'
import {writeFormula} from '../../shared/ai/formula.ts'
import {assertSample, recordsOf, sampleShape, samplesOf} from '../../shared/ai/sample.ts'
import {readAiUsage} from '../../shared/ai/usage.ts'
import {assertPlaced, placedOf, placedShape} from '../../shared/conversations/ask.ts'
import {ApiName, listOf} from '../../shared/registry/annotation.ts'
import {listAiDays} from '../../sql/ai-usage.ts'
import {AiDays, AiUsage, AutoMapped, autoMapExample, Formula, formulaExample, ofModel, usageExample} from '../answers/ai.ts'
import {ofPlace} from '../answers/conversations.ts'
import {limitOf} from '../paging.ts'
import {ofNaming} from '../params.ts'
import {route} from '../route.ts'

const connectorId = z
  .string()
  .max(100)
  .optional()
  .describe('The connection; left out, that of the import, or the only one that has the module')

const MapBody = z
  .strictObject({
    connectorId,
    modules: listOf(ApiName, {most: 5, least: 1}).describe('The modules to write to'),
    ...placedShape,
    ...sampleShape,
  })
  .superRefine((body, context) => {
    assertPlaced(body, context)
    assertSample(body, context)
  })

const FormulaBody = z
  .strictObject({
    ...{connectorId, module: ApiName.describe('The module'), field: ApiName.describe('API name of the field that is to be filled')},
    question: z.string().trim().min(1).max(4000).describe('What is to come out, in words'),
    source: z.string().nullish().describe('The column whose cell the expression sees as `value`; null: none'),
    ...placedShape,
    ...sampleShape,
  })
  .superRefine((body, context) => {
    assertPlaced(body, context)
    assertSample(body, context)
    if (body.source != null && !body.columns.includes(body.source))
      context.addIssue({code: 'custom', path: ['source'], message: 'This is none of the columns'})
  })

/** What is asked, answered and kept of it stands in `shared/ai`. Turns of an import's conversations are written there too, in the transaction that settles. */
export default [
  route({
    method: 'post',
    path: '/ai/auto-map',
    access: {role: 'operator'},
    effect: 'money',
    summary: 'Propose a field for every column',
    description:
      'By names, values and earlier imports of the org; the columns that leaves open, twelve at most, are asked of the model, where there is one and credits. Whatever becomes of the model, there is an answer, and what fails costs nothing. Of the file no more leaves than the org lets leave.',
    answers: {200: AutoMapped},
    refusals: [...ofPlace, ...ofNaming, 'NO_DISCOVERY'],
    example: {
      body: {modules: ['Leads'], columns: ['Name', 'E-mail'], rows: [['Ana Example', 'ana@example.org']]},
      answer: autoMapExample,
    },
    body: MapBody,
    handle({caller, body, request: {signal}, ...tools}) {
      const {connectorId, modules} = body
      return autoMap(tools, {...placedOf(caller, body), connectorId, modules, columns: samplesOf(body), signal})
    },
  }),

  route({
    method: 'post',
    path: '/ai/formula',
    access: {role: 'operator'},
    effect: 'money',
    summary: 'Write an expression for a field',
    description:
      'It is compiled, and run on the rows that are sent, before it is answered; the model is asked three times at most. One that does not compile, or fails for every row, is no answer and costs nothing.',
    answers: {200: Formula},
    refusals: [...ofPlace, ...ofNaming, 'NO_DISCOVERY', ...ofModel, 'SANDBOX_UNAVAILABLE', 'BUSY'],
    example: {
      body: {
        ...{module: 'Leads', field: 'Last_Name', question: 'The last word of the name', source: 'Name'},
        ...{columns: ['Name', 'E-mail'], rows: [['Ana Example', 'ana@example.org']]},
      },
      answer: formulaExample,
    },
    body: FormulaBody,
    handle({caller, body, request: {signal}, ...tools}) {
      const {connectorId, module, field, question, source = null} = body
      const sample = {columns: samplesOf(body), rows: recordsOf(body)}
      return writeFormula(tools, {...placedOf(caller, body), connectorId, module, field, question, source, ...sample, signal})
    },
  }),

  route({
    method: 'get',
    path: '/ai/usage',
    access: {role: 'operator'},
    summary: 'Read what AI help cost in the period',
    answers: {200: AiUsage},
    refusals: [],
    example: {answer: usageExample},
    handle: ({db, caller: {org}}) => readAiUsage(db, org),
  }),

  route({
    method: 'get',
    path: '/ai/admin/usage',
    access: {backoffice: true},
    summary: 'Read what AI help cost by day',
    description: 'Of one org, or of all together.',
    answers: {200: AiDays},
    refusals: [],
    example: {
      query: {days: '31'},
      answer: {
        usage: [{day: '2026-03-01', feature: 'chat', requests: 12, failed: 1, inputTokens: 30_000, outputTokens: 4_000, credits: 14}],
      },
    },
    query: z.object({org: z.string().optional().describe('The org; left out, all together'), days: limitOf({usual: 31, most: 400})}),
    handle: async ({db, query: {org = null, days}}) => ({usage: await listAiDays(db, {org, days})}),
  }),
]
