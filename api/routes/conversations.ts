import {z} from 'zod'
import {openChat} from '../../shared/assistant/chat/chat.ts'
import {readConversations} from '../../shared/assistant/conversations/list.ts'
import {assertPlaced, placedQuestionOf, questionPlaceShape} from '../../shared/assistant/conversations/placed-question.ts'
import {assertSample, recordsOf, sampleShape, samplesOf} from '../../shared/assistant/sample.ts'
import {ApiName, listOf} from '../../shared/configuration/annotation.ts'
import {ChatStream, ofModel} from '../answers/ai.ts'
import {ofPlace, TurnPage, turnExample} from '../answers/conversations.ts'
import {streamChat} from '../chat-stream.ts'
import {Cursor, limitOf} from '../paging.ts'
import {OfImport, ofNaming} from '../params.ts'
import {route} from '../route.ts'

const ChatBody = z
  .strictObject({
    message: z.string().trim().min(1).max(4_000).describe('The question'),
    ...questionPlaceShape,
    source: z.string().max(100).nullish().describe('The file of the import that the question is about. Null: the file of the place'),
    connectorId: z.string().max(100).optional().describe('The connection. Default: the connection of the import'),
    modules: listOf(ApiName, {most: 5}).default([]).describe('The modules that the question is about. Default: the modules of the import'),
    columns: sampleShape.columns.optional().describe('Column names. Default: the columns of the file'),
    rows: sampleShape.rows,
  })
  .superRefine(({columns, rows, ...body}, context) => {
    assertPlaced(body, context)
    const refuse = (path: string, message: string) => context.addIssue({code: 'custom', path: [path], message})
    if (columns) assertSample({columns, rows}, context)
    else if (rows.length > 0) refuse('rows', '`rows` requires `columns`')
    if (body.import === undefined && body.source != null) refuse('source', '`source` requires `import`')
  })

export default [
  route({
    method: 'post',
    path: '/ai/chat',
    operationId: 'chat',
    tag: 'AI help',
    access: {role: 'operator'},
    effect: 'money',
    summary: 'Ask the assistant',
    description:
      'Answers with server-sent events. The assistant reads and proposes; it changes nothing and starts no runs. Errors before the first event are normal refusals; later ones are the event `error`. Disconnecting stops the answer; the part generated so far is charged. Sample data is masked as the settings of the org require.',
    answers: {200: ChatStream},
    refusals: [...ofPlace, ...ofNaming, 'SOURCE_NOT_FOUND', ...ofModel, 'BUSY'],
    example: {body: {message: 'Why were so many rows refused?', import: 'imp_01k9m0v6f8e2r4t7w3y5z1a2b3', place: ['run']}},
    body: ChatBody,
    async handle(input) {
      const {message, source: sourceId = null, connectorId, modules, columns, rows} = input.body
      const {begin} = await openChat(input, {
        ...placedQuestionOf(input.caller, input.body),
        message,
        sourceId,
        connectorId,
        modules,
        sample: columns ? {columns: samplesOf({columns, rows}), rows: recordsOf({columns, rows})} : null,
      })
      return streamChat(input, input.caller.org, begin)
    },
  }),

  route({
    method: 'get',
    path: '/orgs/:org/imports/:id/conversations',
    operationId: 'listConversations',
    tag: 'AI help',
    access: {role: 'operator'},
    summary: 'Read the conversations of an import',
    description:
      'Questions to the `/ai` routes that named an `import` and a `place`, with the answers. Every member of the org can read them.',
    answers: {200: TurnPage},
    refusals: ['IMPORT_NOT_FOUND', 'INVALID_PLACE', 'SOURCE_NOT_FOUND', 'INVALID_CURSOR'],
    example: {query: {place: '["run"]', limit: '50'}, answer: {turns: [turnExample], nextCursor: null}},
    params: OfImport,
    query: z.object({
      source: z.string().optional().describe('Only turns about this file'),
      place: z
        .string()
        .optional()
        .describe('Only turns at this place, given as a JSON array of its kind and parts, such as `["vals","Leads"]`'),
      keptAfter: z.string().optional().describe('Only turns stored after the turn with this id'),
      limit: limitOf({usual: 50, most: 200}),
      cursor: Cursor,
    }),
    handle: ({db, config, caller: {org}, params: {id: importId}, query}) =>
      readConversations({db, ring: config.SECRETS_KEYS}, {org, importId, ...query}),
  }),
]
