import {z} from 'zod'
import {openChat} from '../../shared/ai/chat/chat.ts'
import {assertSample, recordsOf, sampleShape, samplesOf} from '../../shared/ai/sample.ts'
import {assertPlaced, placedOf, placedShape} from '../../shared/conversations/ask.ts'
import {readConversations} from '../../shared/conversations/list.ts'
import {ApiName, listOf} from '../../shared/registry/annotation.ts'
import {ChatStream, ofModel} from '../answers/ai.ts'
import {ofPlace, TurnPage, turnExample} from '../answers/conversations.ts'
import {streamChat} from '../chat-stream.ts'
import {Cursor, limitOf} from '../paging.ts'
import {OfImport, ofNaming} from '../params.ts'
import {route} from '../route.ts'

const ChatBody = z
  .strictObject({
    message: z.string().trim().min(1).max(4_000).describe('The question'),
    ...placedShape,
    source: z.string().max(100).nullish().describe('The file of the import it is about; null: that of the place'),
    connectorId: z.string().max(100).optional().describe('The connection; left out, that of the import'),
    modules: listOf(ApiName, {most: 5}).default([]).describe('The modules it is about; none: those of the import'),
    columns: sampleShape.columns.optional().describe('Names of columns; left out, those of the file'),
    rows: sampleShape.rows,
  })
  .superRefine(({columns, rows, ...body}, context) => {
    assertPlaced(body, context)
    const refuse = (path: string, message: string) => context.addIssue({code: 'custom', path: [path], message})
    if (columns) assertSample({columns, rows}, context)
    else if (rows.length > 0) refuse('rows', 'Rows need the columns they have')
    if (body.import === undefined && body.source != null) refuse('source', 'A file is one of an import: name the import')
  })

export default [
  route({
    method: 'post',
    path: '/ai/chat',
    access: {role: 'operator'},
    effect: 'money',
    summary: 'Ask the assistant',
    description:
      'Answered by server-sent events. It reads and proposes; it changes and runs nothing. What is wrong before anything was said is refused with its status, as everywhere; after that it is the event `error`. Whoever goes away ends it, and pays for what had come by then. Of the file no more leaves than the org lets leave.',
    answers: {200: ChatStream},
    refusals: [...ofPlace, ...ofNaming, 'SOURCE_NOT_FOUND', ...ofModel, 'BUSY'],
    example: {body: {message: 'Why were so many rows refused?', import: 'imp_01k9m0v6f8e2r4t7w3y5z1a2b3', place: ['run']}},
    body: ChatBody,
    async handle(input) {
      const {message, source: sourceId = null, connectorId, modules, columns, rows} = input.body
      const {begin} = await openChat(input, {
        ...placedOf(input.caller, input.body),
        ...{message, sourceId, connectorId, modules},
        sample: columns ? {columns: samplesOf({columns, rows}), rows: recordsOf({columns, rows})} : null,
      })
      return streamChat(input, input.caller.org, begin)
    },
  }),

  route({
    method: 'get',
    path: '/orgs/:org/imports/:id/conversations',
    access: {role: 'operator'},
    summary: 'Read what was asked about an import',
    description: 'What the routes of `/ai` answered with an `import` and a `place`. Every member of the org reads it.',
    answers: {200: TurnPage},
    refusals: ['IMPORT_NOT_FOUND', 'INVALID_PLACE', 'SOURCE_NOT_FOUND', 'INVALID_CURSOR'],
    example: {query: {place: '["run"]', limit: '50'}, answer: {turns: [turnExample], nextCursor: null}},
    params: OfImport,
    query: z.object({
      source: z.string().optional().describe('Turns about this file alone'),
      place: z.string().optional().describe('Turns at this place alone: its kind and parts as a JSON array, such as `["vals","Leads"]`'),
      keptAfter: z.string().optional().describe('Turns kept after the one of this id alone, whenever they were asked'),
      limit: limitOf({usual: 50, most: 200}),
      cursor: Cursor,
    }),
    handle: ({db, config, caller: {org}, params: {id: importId}, query}) =>
      readConversations({db, ring: config.SECRETS_KEYS}, {org, importId, ...query}),
  }),
]
