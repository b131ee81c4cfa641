import {z} from 'zod'
import {readPage} from '../../shared/cursor.ts'
import {drawnAs} from '../../shared/drawn.ts'
import {oneLine} from '../../shared/name.ts'
import {tagOf} from '../../shared/registry/version.ts'
import {checkTemplate} from '../../shared/templates/check.ts'
import {describeTemplate, outlineTemplate} from '../../shared/templates/describe.ts'
import {type Asker, findVisible, viewerOf} from '../../shared/templates/find.ts'
import {readTemplateRuns} from '../../shared/templates/runs.ts'
import {templateOf} from '../../shared/templates/save.ts'
import {Template} from '../../shared/templates/template.ts'
import {createTemplate, removeTemplate, replaceTemplate, shareTemplate} from '../../shared/templates/write.ts'
import {listTemplates, type TemplateRow} from '../../sql/templates.ts'
import {
  checkExample,
  outlineExample,
  TemplateCheck,
  TemplateMade,
  TemplatePage,
  TemplateRead,
  TemplateRemoved,
  TemplateRuns,
  templateDocument,
  templateExample,
} from '../answers/templates.ts'
import {templateAskerOf} from '../askers.ts'
import {conditionOf} from '../if-match.ts'
import {Cursor, limitOf} from '../paging.ts'
import {OfTemplate} from '../params.ts'
import {reply} from '../reply.ts'
import {route} from '../route.ts'

/** One saved from an import names it; any other is a document. */
const FromImport = z.strictObject({
  fromImport: z.string().describe('The import it is saved from'),
  name: oneLine(z.string().trim().min(1).max(200)).describe('What people call it'),
  description: z.string().max(2_000).nullish().describe('What it is for'),
})
const New = drawnAs(z.unknown(), z.union([Template, FromImport])).transform((body, context): z.output<typeof FromImport> | Template => {
  const isSaved = typeof body === 'object' && body !== null && 'fromImport' in body
  const {data, error} = (isSaved ? FromImport : Template).safeParse(body)
  for (const {path, message} of error?.issues ?? []) context.addIssue({code: 'custom', path: [...path], message})
  return data ?? z.NEVER
})

/** With its version, which a write is made against. */
const answer = (template: TemplateRow, asker: Asker, {status, ...more}: {status?: number; leftOut?: string[]} = {}) =>
  reply({
    json: {template: describeTemplate(template, asker), ...more},
    headers: {etag: tagOf(template.version)},
    ...(status && {status}),
  })

export default [
  route({
    method: 'get',
    path: '/orgs/:org/templates',
    access: {role: 'operator'},
    summary: 'List the templates one sees',
    description: 'Shared templates and your own. Admins see every template of the org.',
    answers: {200: TemplatePage},
    refusals: ['INVALID_CURSOR'],
    example: {answer: {templates: [outlineExample], nextCursor: null}},
    query: z.object({limit: limitOf({usual: 50, most: 200}), cursor: Cursor}),
    async handle({db, config, caller, query}) {
      const asker = templateAskerOf(caller)
      const {page, nextCursor} = await readPage(config.SECRETS_KEYS, `templates ${caller.org}`, query, {
        as: String,
        read: ({place: before, limit}) => listTemplates(db, {...viewerOf(asker), before, limit}),
        placeOf: ({id}) => id,
      })
      return {templates: page.map(template => outlineTemplate(template, asker)), nextCursor}
    },
  }),
  route({
    method: 'post',
    path: '/orgs/:org/templates',
    access: {role: 'builder'},
    summary: 'Save a template',
    description:
      'A document, or what an import does (`fromImport`): of its files the columns and how they are read, and nothing of their rows, names or counts. Until it is shared, only its creator and admins see it. The `ETag` is its version.',
    answers: {201: TemplateMade},
    refusals: ['IMPORT_NOT_FOUND', 'FILE_GONE', 'NOT_READY'],
    example: {
      body: {fromImport: 'imp_01k9m0v6f8e2r4t7w3y5z1a2b3', name: 'Leads of the fair'},
      answer: {template: templateExample, leftOut: []},
    },
    body: New,
    async handle({db, caller, body}) {
      const asker = templateAskerOf(caller)
      if (!('fromImport' in body)) return answer(await createTemplate(db, asker, body), asker, {status: 201})
      const {fromImport: importId, ...named} = body
      const {document, leftOut} = await templateOf(db, {org: caller.org, importId, ...named})
      return answer(await createTemplate(db, asker, document), asker, {status: 201, leftOut})
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/templates/:id',
    access: {role: 'operator'},
    summary: 'Read a template',
    description: 'The `ETag` is its version.',
    answers: {200: TemplateRead},
    refusals: ['NOT_FOUND'],
    example: {answer: {template: templateExample}},
    params: OfTemplate,
    handle: async ({db, caller, params: {id}}) => answer(await findVisible(db, {...templateAskerOf(caller), id}), templateAskerOf(caller)),
  }),
  route({
    method: 'put',
    path: '/orgs/:org/templates/:id',
    access: {role: 'builder'},
    summary: 'Replace a template',
    description:
      'The whole document at once, by its creator or an admin. The same again makes no version, and says that what has changed around it is known. With `If-Match: "3"` it is refused where 3 is not its newest version any more.',
    answers: {200: TemplateRead},
    refusals: ['BAD_IF_MATCH', 'NOT_FOUND', 'TEMPLATE_CONFLICT', 'TEMPLATE_NAME_TAKEN'],
    example: {body: templateDocument, answer: {template: templateExample}},
    params: OfTemplate,
    body: Template,
    async handle({db, caller, params: {id}, body, request}) {
      const asker = templateAskerOf(caller)
      return answer(await replaceTemplate(db, asker, {id, condition: conditionOf(request)}, body), asker)
    },
  }),
  route({
    method: 'delete',
    path: '/orgs/:org/templates/:id',
    access: {role: 'builder'},
    summary: 'Delete a template with its schedules',
    description: 'Imports made from it and their runs stay. With `If-Match: "3"` it is refused where 3 is not its newest version any more.',
    answers: {200: TemplateRemoved},
    refusals: ['BAD_IF_MATCH', 'NOT_FOUND', 'TEMPLATE_CONFLICT'],
    example: {answer: {removed: templateExample.id}},
    params: OfTemplate,
    async handle({db, caller, params: {id}, request}) {
      await removeTemplate(db, templateAskerOf(caller), {id, condition: conditionOf(request)})
      return {removed: id}
    },
  }),
  route({
    method: 'post',
    path: '/orgs/:org/templates/:id/share',
    access: {role: 'builder'},
    summary: 'Share a template with the org, or take it back',
    answers: {200: TemplateRead},
    refusals: ['NOT_FOUND', 'TEMPLATE_NAME_TAKEN'],
    example: {body: {shared: true}, answer: {template: templateExample}},
    params: OfTemplate,
    body: z.strictObject({shared: z.boolean().default(true).describe('False makes it private: only its creator and admins see it')}),
    async handle({db, caller, params: {id}, body: {shared}}) {
      const asker = templateAskerOf(caller)
      return answer(await shareTemplate(db, asker, {id, shared}), asker)
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/templates/:id/runs',
    access: {role: 'operator'},
    summary: 'List the runs of a template',
    description: 'Runs of imports made from it, and those engines of your own were authorised for by its name; the newest first.',
    answers: {200: TemplateRuns},
    refusals: ['NOT_FOUND', 'INVALID_CURSOR'],
    params: OfTemplate,
    query: z.object({limit: limitOf({usual: 50, most: 200}), cursor: Cursor}),
    async handle({db, config, caller, params: {id}, query}) {
      const {id: template, org} = await findVisible(db, {...templateAskerOf(caller), id})
      return readTemplateRuns({db, ring: config.SECRETS_KEYS}, {org, template, ...query})
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/templates/:id/check',
    access: {role: 'operator'},
    summary: 'Tell what of a template no longer holds',
    description:
      'By the newest discovery of its connection; a template of any connection is held against the one named, or the only one there is.',
    answers: {200: TemplateCheck},
    refusals: ['NOT_FOUND', 'CONNECTION_NOT_FOUND', 'CONNECTION_REQUIRED', 'NO_DISCOVERY'],
    example: {answer: checkExample},
    params: OfTemplate,
    query: z.object({connector: z.string().optional().describe('The connection it is held against, for a template of any')}),
    async handle({db, caller, params: {id}, query: {connector}}) {
      return checkTemplate(db, await findVisible(db, {...templateAskerOf(caller), id}), connector)
    },
  }),
]
