import {z} from 'zod'
import {readPage} from '../../shared/cursor.ts'
import type {Role} from '../../shared/people/roles.ts'
import {tagOf} from '../../shared/registry/version.ts'
import {checkTemplate} from '../../shared/templates/check.ts'
import {describeTemplate, outlineTemplate} from '../../shared/templates/describe.ts'
import {type Asker, findVisible, viewerOf} from '../../shared/templates/find.ts'
import {readTemplateRuns} from '../../shared/templates/runs.ts'
import {templateOf} from '../../shared/templates/save.ts'
import {Template} from '../../shared/templates/template.ts'
import {createTemplate, removeTemplate, replaceTemplate, shareTemplate} from '../../shared/templates/write.ts'
import {listTemplates, type TemplateRow} from '../../sql/templates.ts'
import {conditionOf} from '../if-match.ts'
import {limitOf} from '../page.ts'
import {reply} from '../reply.ts'
import {route} from '../route.ts'

const OfTemplate = z.object({org: z.string(), id: z.string()})

/** One saved from an import names it; any other is a document. */
const FromImport = z.strictObject({
  fromImport: z.string(),
  name: z.string().trim().min(1).max(200),
  description: z.string().max(2_000).nullish(),
})
const New = z.unknown().transform((body, context): z.output<typeof FromImport> | Template => {
  const isSaved = typeof body === 'object' && body !== null && 'fromImport' in body
  const {data, error} = (isSaved ? FromImport : Template).safeParse(body)
  for (const {path, message} of error?.issues ?? []) context.addIssue({code: 'custom', path: [...path], message})
  return data ?? z.NEVER
})

const askerOf = ({org, person, role}: {org: string; person: string; role: Role}): Asker => ({org, person, rank: role})

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
    query: z.object({limit: limitOf({usual: 50, most: 200}), cursor: z.string().optional()}),
    async handle({db, config, caller, query}) {
      const asker = askerOf(caller)
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
    body: New,
    async handle({db, caller, body}) {
      const asker = askerOf(caller)
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
    params: OfTemplate,
    handle: async ({db, caller, params: {id}}) => answer(await findVisible(db, {...askerOf(caller), id}), askerOf(caller)),
  }),
  route({
    method: 'put',
    path: '/orgs/:org/templates/:id',
    access: {role: 'builder'},
    params: OfTemplate,
    body: Template,
    async handle({db, caller, params: {id}, body, request}) {
      const asker = askerOf(caller)
      return answer(await replaceTemplate(db, asker, {id, condition: conditionOf(request)}, body), asker)
    },
  }),
  route({
    method: 'delete',
    path: '/orgs/:org/templates/:id',
    access: {role: 'builder'},
    params: OfTemplate,
    async handle({db, caller, params: {id}, request}) {
      await removeTemplate(db, askerOf(caller), {id, condition: conditionOf(request)})
      return {removed: id}
    },
  }),
  route({
    method: 'post',
    path: '/orgs/:org/templates/:id/share',
    access: {role: 'builder'},
    params: OfTemplate,
    body: z.strictObject({shared: z.boolean().default(true)}),
    async handle({db, caller, params: {id}, body: {shared}}) {
      const asker = askerOf(caller)
      return answer(await shareTemplate(db, asker, {id, shared}), asker)
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/templates/:id/runs',
    access: {role: 'operator'},
    params: OfTemplate,
    query: z.object({limit: limitOf({usual: 50, most: 200}), cursor: z.string().optional()}),
    async handle({db, config, caller, params: {id}, query}) {
      const {id: template, org} = await findVisible(db, {...askerOf(caller), id})
      return readTemplateRuns({db, ring: config.SECRETS_KEYS}, {org, template, ...query})
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/templates/:id/check',
    access: {role: 'operator'},
    params: OfTemplate,
    query: z.object({connector: z.string().optional()}),
    async handle({db, caller, params: {id}, query: {connector}}) {
      return checkTemplate(db, await findVisible(db, {...askerOf(caller), id}), connector)
    },
  }),
]
