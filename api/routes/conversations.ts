import {z} from 'zod'
import {openChat} from '../../shared/assistant/chat/chat.ts'
import {readConversations} from '../../shared/assistant/conversations/list.ts'
import {assertPlaced, placedQuestionOf, questionPlaceShape} from '../../shared/assistant/conversations/placed-question.ts'
import {TurnBody} from '../../shared/assistant/conversations/turn.ts'
import {assertSample, recordsOf, sampleShape, samplesOf} from '../../shared/assistant/sample.ts'
import {ApiName, listOf} from '../../shared/configuration/annotation.ts'
import {Answer, Id, Moment, NextCursor} from '../answers/common.ts'
import {PersonNamed} from '../answers/people.ts'
import {Samples} from '../answers/samples.ts'
import {streamChat} from '../chat-stream.ts'
import {Cursor, limitOf} from '../paging.ts'
import {OfImport, ofNaming} from '../params.ts'
import {ofModel, ofPlace} from '../refusal-lists.ts'
import {route} from '../route.ts'

const chatEvents = `A comment every 15 seconds keeps the connection open. The data of each event is JSON:

| Event | Data |
|---|---|
| \`text\` | \`{text}\`: the next words of the answer |
| \`tool\` | \`{name, input, id}\`: the model calls a tool: \`get_schema\`, \`propose_mapping\`, \`test_expression\` or \`explain_issue\`; at most five rounds |
| \`tool_result\` | \`{name, id, output}\`: the result of the tool, as sent to the model |
| \`done\` | \`{turn, notes, samples, usage: {inputTokens, outputTokens}, credits, balance}\`: the last event. The answer is charged and stored |
| \`error\` | \`{error, code}\`, as a refusal: the last event. The answer was interrupted and costs nothing |`

const ChatStream = {type: 'text/event-stream', what: chatEvents}

const part = (what: string) => z.string().nullable().optional().describe(`${what}. Null: none. Absent: not used by this kind`)

const Place = Answer({
  kind: z
    .enum(['source', 'field', 'vals', 'failed', 'issue', 'checks', 'run'])
    .describe('A file, a field, the values of a module, failed rows, a problem, the checks, or the run'),
  source: part('The file'),
  module: part('The API name of the module'),
  field: part('The API name of the field'),
  problem: part('The kind of the problem'),
  code: part('The error code of the rows'),
}).meta({id: 'Place', description: 'The part of an import that a question is about'})

/** A proposal in an answer of the assistant. Later versions of Lading may have stored more keys. */
const Target = z.union([
  z.looseObject({
    kind: z.literal('mapping').describe('Maps a column to a field'),
    column: z.string().describe('The column'),
    module: z.string().describe('The API name of the module'),
    field: z.string().describe('The API name of the field'),
    confidence: z.number().min(0).max(1).describe('Confidence, 0 to 1'),
  }),
  z.looseObject({
    kind: z.literal('expression').describe('Fills a field with an expression'),
    module: z.string().nullable().describe('The API name of the module. Null: none given'),
    field: z.string().nullable().describe('The API name of the field. Null: none given'),
    expression: z.string().describe('The JavaScript expression'),
  }),
])

const Turn = Answer({
  id: Id('trn', 'The turn'),
  place: Place,
  route: TurnBody.shape.route.describe('The `/ai` route that answered'),
  position: z.int().nonnegative().describe('Position in the conversation at that place, from 0'),
  question: z.string().describe('The question. For a mapping, the names of the columns'),
  answer: z.string().describe('The answer'),
  notes: z.array(z.string()).describe('Remarks on the answer, one sentence each'),
  targets: z.array(Target).describe('The proposals'),
  samples: Samples,
  askedAt: Moment('When it was asked'),
  askedBy: PersonNamed.nullable().describe('The person who asked, or the creator of the token. Null: deleted'),
  askedVia: z.enum(['session', 'api_token', 'mcp']).describe('Asked in a session, with an API token, or by an MCP client'),
  replayed: z.boolean().describe('Whether it is sent to the model as context of the next question at its place'),
  draft: z.boolean().describe('Whether it belongs to a draft'),
  draftId: z.string().nullable().describe("The client's id of the draft. Null: none given"),
  draftScope: TurnBody.shape.draftScope.describe('The scope of the draft. Null: none given'),
}).meta({id: 'Turn', description: 'A question and its answer, stored with an import'})

const TurnPage = Answer({
  turns: z.array(Turn).describe('Newest first. A page may be shorter than `limit` and still have a next page'),
  nextCursor: NextCursor,
})

const turnExample = {
  id: 'trn_01k9m0v6f8e2r4t7w3y5z1a2b3',
  place: {kind: 'run'},
  route: 'chat',
  position: 0,
  question: 'Why were so many rows refused?',
  answer: 'The CRM has no such country for 12 of them.',
  notes: [],
  targets: [],
  samples: 'masked',
  askedAt: '2026-03-01T08:30:00.000Z',
  askedBy: {id: 'per_01k9m0v6f8e2r4t7w3y5z1a2b3', name: 'Ana Example'},
  askedVia: 'session',
  replayed: true,
  draft: false,
  draftId: null,
  draftScope: null,
}

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
