import {z} from 'zod'
import {openChat} from '../../shared/ai/chat/chat.ts'
import {assertSample, recordsOf, sampleShape, samplesOf} from '../../shared/ai/sample.ts'
import {assertPlaced, placedOf, placedShape} from '../../shared/conversations/ask.ts'
import {readConversations} from '../../shared/conversations/list.ts'
import {ApiName, listOf} from '../../shared/registry/annotation.ts'
import {streamChat} from '../chat-stream.ts'
import {limitOf} from '../page.ts'
import {route} from '../route.ts'

const ChatBody = z
  .strictObject({
    message: z.string().trim().min(1).max(4_000),
    ...placedShape,
    source: z.string().max(100).nullish(),
    connectorId: z.string().max(100).optional(),
    modules: listOf(ApiName, {most: 5}).default([]),
    columns: sampleShape.columns.optional(),
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
    params: z.object({org: z.string(), id: z.string()}),
    query: z.object({
      source: z.string().optional(),
      place: z.string().optional(),
      keptAfter: z.string().optional(),
      limit: limitOf({usual: 50, most: 200}),
      cursor: z.string().optional(),
    }),
    handle: ({db, config, caller: {org}, params: {id: importId}, query}) =>
      readConversations({db, ring: config.SECRETS_KEYS}, {org, importId, ...query}),
  }),
]
