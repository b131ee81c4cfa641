import {z} from 'zod'
import {openChat} from '../../shared/ai/chat/chat.ts'
import {assertSample, recordsOf, sampleShape, samplesOf} from '../../shared/ai/sample.ts'
import {readConversations} from '../../shared/conversations/list.ts'
import {readPlace} from '../../shared/conversations/place.ts'
import {DRAFT_SCOPES} from '../../shared/conversations/turn.ts'
import {ApiName, listOf} from '../../shared/registry/annotation.ts'
import {streamChat} from '../chat-stream.ts'
import {limitOf} from '../page.ts'
import {route} from '../route.ts'

const ChatBody = z
  .strictObject({
    message: z.string().trim().min(1).max(4_000),
    import: z.string().max(100).optional(),
    /** As in `GET …/conversations`, as the array it is. */
    place: z.unknown().optional(),
    source: z.string().max(100).nullish(),
    connectorId: z.string().max(100).optional(),
    modules: listOf(ApiName, {most: 5}).default([]),
    columns: sampleShape.columns.optional(),
    rows: sampleShape.rows,
    draft: z.boolean().default(false),
    draftId: z.string().min(1).max(100).nullish(),
    draftScope: z.enum(DRAFT_SCOPES).nullish(),
  })
  .superRefine(({columns, rows, ...body}, context) => {
    const refuse = (path: string, message: string) => context.addIssue({code: 'custom', path: [path], message})
    if (columns) assertSample({columns, rows}, context)
    else if (rows.length > 0) refuse('rows', 'Rows need the columns they have')
    if (body.import === undefined && body.place !== undefined) refuse('place', 'A place is one of an import: name the import')
    if (body.import === undefined && body.source != null) refuse('source', 'A file is one of an import: name the import')
    if (!body.draft && (body.draftId != null || body.draftScope != null)) refuse('draft', 'Only a draft has an id or a scope')
  })

export default [
  route({
    method: 'post',
    path: '/ai/chat',
    access: {role: 'operator'},
    body: ChatBody,
    async handle(input) {
      const {org, person, via} = input.caller
      const {
        message,
        import: importId = null,
        place,
        source = null,
        columns,
        rows,
        draft,
        draftId = null,
        draftScope = null,
        ...named
      } = input.body
      const {begin} = await openChat(input, {
        ...{...named, org, person, via, message, importId, sourceId: source},
        place: place === undefined ? null : readPlace(place),
        sample: columns ? {columns: samplesOf({columns, rows}), rows: recordsOf({columns, rows})} : null,
        draft: {draft, draftId, draftScope},
      })
      return streamChat(input, org, begin)
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
