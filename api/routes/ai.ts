import {z} from 'zod'
import {autoMap} from '../../shared/ai/auto-map.ts'
import {writeFormula} from '../../shared/ai/formula.ts'
import {assertSample, recordsOf, sampleShape, samplesOf} from '../../shared/ai/sample.ts'
import {readAiUsage} from '../../shared/ai/usage.ts'
import {assertPlaced, placedOf, placedShape} from '../../shared/conversations/ask.ts'
import {ApiName, listOf} from '../../shared/registry/annotation.ts'
import {listAiDays} from '../../sql/ai-usage.ts'
import {limitOf} from '../page.ts'
import {route} from '../route.ts'

const connectorId = z.string().max(100).optional()

const MapBody = z
  .strictObject({connectorId, modules: listOf(ApiName, {most: 5, least: 1}), ...placedShape, ...sampleShape})
  .superRefine((body, context) => {
    assertPlaced(body, context)
    assertSample(body, context)
  })

const FormulaBody = z
  .strictObject({
    ...{connectorId, module: ApiName, field: ApiName},
    question: z.string().trim().min(1).max(4000),
    source: z.string().nullish(),
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
    handle: ({db, caller: {org}}) => readAiUsage(db, org),
  }),

  route({
    method: 'get',
    path: '/ai/admin/usage',
    access: {backoffice: true},
    query: z.object({org: z.string().optional(), days: limitOf({usual: 31, most: 400})}),
    handle: async ({db, query: {org = null, days}}) => ({usage: await listAiDays(db, {org, days})}),
  }),
]
