import {z} from 'zod'
import {tagOf} from '../../shared/configuration/version.ts'
import {checkTemplate} from '../../shared/mapping/templates/check.ts'
import {describeTemplate, outlineTemplate} from '../../shared/mapping/templates/describe.ts'
import {findVisible, type TemplateCaller, viewerOf} from '../../shared/mapping/templates/find.ts'
import {readTemplateRuns} from '../../shared/mapping/templates/runs.ts'
import {templateOf} from '../../shared/mapping/templates/save.ts'
import {Template} from '../../shared/mapping/templates/template.ts'
import {changeVerify} from '../../shared/mapping/templates/verify.ts'
import {createTemplate, removeTemplate, replaceTemplate, shareTemplate} from '../../shared/mapping/templates/write.ts'
import {withJsonSchema} from '../../shared/schema/json-schema.ts'
import {oneLine} from '../../shared/schema/name.ts'
import {readPage} from '../../shared/security/cursor.ts'
import {VerifyMode} from '../../sql/runs.ts'
import {findRecheck} from '../../sql/template-rechecks.ts'
import {listTemplates, type TemplateRow} from '../../sql/templates.ts'
import {Removed} from '../answers/common.ts'
import {templateAskerOf} from '../callers.ts'
import {conditionOf} from '../if-match.ts'
import {Cursor, limitOf} from '../paging.ts'
import {OfTemplate} from '../params.ts'
import {reply} from '../reply.ts'
import {route} from '../route.ts'
import {
  checkExample,
  outlineExample,
  TemplateCheck,
  TemplateMade,
  TemplatePage,
  TemplateRead,
  TemplateRuns,
  TemplateShown,
  templateBodyExample,
  templateExample,
} from './templates.answers.ts'

/** The input to save a template from an import. A template may also be sent as a document. */
const FromImport = z.strictObject({
  fromImport: z.string().describe('The import to save as a template'),
  name: oneLine(z.string().trim().min(1).max(200)).describe('The name shown to users'),
  description: z.string().max(2_000).nullish().describe('The purpose of the template'),
  verify: Template.shape.verify,
})
const New = withJsonSchema(z.unknown(), z.union([Template, FromImport])).transform(
  (body, context): z.output<typeof FromImport> | Template => {
    const isSaved = typeof body === 'object' && body !== null && 'fromImport' in body
    const {data, error} = (isSaved ? FromImport : Template).safeParse(body)
    for (const {path, message} of error?.issues ?? []) context.addIssue({code: 'custom', path: [...path], message})
    return data ?? z.NEVER
  },
)

type AnswerParts = {status?: number; leftOut?: string[]; recheck?: object | null}

const answer = (template: TemplateRow, templateCaller: TemplateCaller, {status, ...more}: AnswerParts = {}) =>
  reply({
    json: {template: describeTemplate(template, templateCaller), ...more},
    headers: {etag: tagOf(template.version)},
    ...(status && {status}),
  })

export default [
  route({
    method: 'get',
    path: '/orgs/:org/templates',
    operationId: 'listTemplates',
    tag: 'Templates',
    access: {role: 'operator'},
    summary: 'List the templates you can see',
    description: 'Shared templates and your own. Admins see every template of the org.',
    answers: {200: TemplatePage},
    refusals: ['INVALID_CURSOR'],
    example: {answer: {templates: [outlineExample], nextCursor: null}},
    query: z.object({limit: limitOf({usual: 50, most: 200}), cursor: Cursor}),
    async handle({db, config, caller, query}) {
      const templateCaller = templateAskerOf(caller)
      const {page, nextCursor} = await readPage(config.SECRETS_KEYS, `templates ${caller.org}`, query, {
        as: String,
        read: ({place: before, limit}) => listTemplates(db, {...viewerOf(templateCaller), before, limit}),
        placeOf: ({id}) => id,
      })
      return {templates: page.map(template => outlineTemplate(template, templateCaller)), nextCursor}
    },
  }),
  route({
    method: 'post',
    path: '/orgs/:org/templates',
    operationId: 'saveTemplate',
    tag: 'Templates',
    access: {role: 'builder'},
    summary: 'Save a template',
    description:
      "From a document, or from an import (`fromImport`). Of the import's files, the template keeps columns and reader options, but no rows, names or counts. Until it is shared, only its creator and admins see it. The `ETag` is its version.",
    answers: {201: TemplateMade},
    refusals: ['IMPORT_NOT_FOUND', 'FILE_GONE', 'NOT_READY', 'FIELD_MAPPED'],
    example: {
      body: {fromImport: 'imp_01k9m0v6f8e2r4t7w3y5z1a2b3', name: 'Leads of the fair'},
      answer: {template: templateExample, leftOut: []},
    },
    body: New,
    async handle({db, caller, body}) {
      const templateCaller = templateAskerOf(caller)
      if (!('fromImport' in body)) return answer(await createTemplate(db, templateCaller, body), templateCaller, {status: 201})
      const {fromImport: importId, ...named} = body
      const {document, leftOut} = await templateOf(db, {org: caller.org, importId, ...named})
      return answer(await createTemplate(db, templateCaller, document), templateCaller, {status: 201, leftOut})
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/templates/:id',
    operationId: 'readTemplate',
    tag: 'Templates',
    access: {role: 'operator'},
    summary: 'Read a template',
    description:
      'The `ETag` is its version. After a discovery that found changes, the newest import of this version is checked again if its flows are unchanged: `recheck`.',
    answers: {200: TemplateShown},
    refusals: ['NOT_FOUND'],
    example: {answer: {template: templateExample, recheck: null}},
    params: OfTemplate,
    async handle({db, caller, params: {id}}) {
      const template = await findVisible(db, {...templateAskerOf(caller), id})
      return answer(template, templateAskerOf(caller), {recheck: await findRecheck(db, template)})
    },
  }),
  route({
    method: 'put',
    path: '/orgs/:org/templates/:id',
    operationId: 'replaceTemplate',
    tag: 'Templates',
    access: {role: 'builder'},
    summary: 'Replace a template',
    description:
      'Replaces the whole document. Allowed to its creator and to admins. An identical document creates no version, and acknowledges changes in the CRM since. A document that lacks a slot of the data contract is refused. With `If-Match: "3"`, applies only if 3 is still the newest version.',
    answers: {200: TemplateRead},
    refusals: ['BAD_IF_MATCH', 'NOT_FOUND', 'TEMPLATE_CONFLICT', 'TEMPLATE_NAME_TAKEN', 'FIELD_MAPPED'],
    example: {body: templateBodyExample, answer: {template: templateExample}},
    params: OfTemplate,
    body: Template,
    async handle({db, caller, params: {id}, body, request}) {
      const templateCaller = templateAskerOf(caller)
      return answer(await replaceTemplate(db, templateCaller, {id, condition: conditionOf(request)}, body), templateCaller)
    },
  }),
  route({
    method: 'patch',
    path: '/orgs/:org/templates/:id',
    operationId: 'setTemplateVerify',
    tag: 'Templates',
    access: {role: 'builder'},
    summary: 'Set which rows its runs read back',
    description: 'Applies to runs that start without `verify`. The template keeps its version and its approval.',
    answers: {200: TemplateRead},
    refusals: ['NOT_FOUND'],
    example: {body: {verify: 'all'}, answer: {template: {...templateExample, verify: 'all'}}},
    params: OfTemplate,
    body: z.strictObject({verify: VerifyMode.describe('Which written rows the runs read back')}),
    async handle({db, caller, params: {id}, body: {verify}}) {
      const templateCaller = templateAskerOf(caller)
      return answer(await changeVerify(db, templateCaller, {id, verify}), templateCaller)
    },
  }),
  route({
    method: 'delete',
    path: '/orgs/:org/templates/:id',
    operationId: 'deleteTemplate',
    tag: 'Templates',
    access: {role: 'builder'},
    summary: 'Delete a template with its schedules',
    description: 'Imports created from it and their runs stay. With `If-Match: "3"`, applies only if 3 is still the newest version.',
    answers: {200: Removed('tpl', 'The template that was deleted')},
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
    operationId: 'shareTemplate',
    tag: 'Templates',
    access: {role: 'builder'},
    summary: 'Share a template with the org, or make it private',
    answers: {200: TemplateRead},
    refusals: ['NOT_FOUND', 'TEMPLATE_NAME_TAKEN'],
    example: {body: {shared: true}, answer: {template: templateExample}},
    params: OfTemplate,
    body: z.strictObject({shared: z.boolean().default(true).describe('False makes it private: only its creator and admins see it')}),
    async handle({db, caller, params: {id}, body: {shared}}) {
      const templateCaller = templateAskerOf(caller)
      return answer(await shareTemplate(db, templateCaller, {id, shared}), templateCaller)
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/templates/:id/runs',
    operationId: 'listTemplateRuns',
    tag: 'Templates',
    access: {role: 'operator'},
    summary: 'List the runs of a template',
    description: 'Runs of imports created from it, and external runs authorised with its id. Newest first.',
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
    operationId: 'checkTemplate',
    tag: 'Templates',
    access: {role: 'operator'},
    summary: 'Check a template against the CRM',
    description:
      'Compares the template with the latest discovery of `connector`. Without it, of the template’s own connection, or of the only connection.',
    answers: {200: TemplateCheck},
    refusals: ['NOT_FOUND', 'CONNECTION_NOT_FOUND', 'CONNECTION_REQUIRED', 'NO_DISCOVERY'],
    example: {answer: checkExample},
    params: OfTemplate,
    query: z.object({connector: z.string().optional().describe('The connection to compare with, instead of the template’s own')}),
    async handle({db, caller, params: {id}, query: {connector}}) {
      return checkTemplate(db, await findVisible(db, {...templateAskerOf(caller), id}), connector)
    },
  }),
]
