import {z} from 'zod'
import {readPage} from '../../shared/cursor.ts'
import {Refusal} from '../../shared/errors.ts'
import {Flows, findIssues} from '../../shared/flows/flow.ts'
import {isAtLeast} from '../../shared/people/roles.ts'
import {tagOf} from '../../shared/registry/version.ts'
import {describeImport} from '../../shared/runs/describe-import.ts'
import {deleteImport, renameImport} from '../../shared/runs/edit-import.ts'
import {findKnown} from '../../shared/runs/start.ts'
import {lockOpenImport} from '../../shared/sources/find.ts'
import {makeEmptyImport, makeImport} from '../../shared/templates/apply.ts'
import {fillSlots} from '../../shared/templates/fill.ts'
import {findVisible} from '../../shared/templates/find.ts'
import type {Db} from '../../sql/database.ts'
import {findImport, type Import, listImports, setFlows} from '../../sql/imports.ts'
import {listSources} from '../../sql/sources.ts'
import {conditionOf} from '../if-match.ts'
import {limitOf} from '../page.ts'
import {reply} from '../reply.ts'
import {route} from '../route.ts'

const Id = z.object({org: z.string(), id: z.string()})

const NewImport = z
  .strictObject({
    name: z.string().min(1).max(200).optional(),
    connectorId: z.string().optional(),
    /** Its own connection is meant, where it names one. */
    templateId: z.string().optional(),
  })
  .refine(({connectorId, templateId}) => connectorId !== undefined || templateId !== undefined, {
    path: ['connectorId'],
    message: 'An import needs a connection, or a template that names one',
  })

/** Which of the import's files fills which slot of its template. */
const Slots = z
  .record(z.string().max(64), z.string().max(100))
  .refine(slots => Object.keys(slots).length > 0 && Object.keys(slots).length <= 20, 'Name 1 to 20 slots, each with the id of a source')

/** With its version, which a change of its name is made against. */
const answer = async (db: Db, found: Import) =>
  reply({json: {import: describeImport(found, await listSources(db, found.no))}, headers: {etag: tagOf(found.version)}})

export default [
  route({
    method: 'post',
    path: '/orgs/:org/imports',
    access: {role: 'operator'},
    params: z.object({org: z.string()}),
    body: NewImport,
    status: 201,
    async handle({db, caller: {org, person, role}, body: {templateId, ...body}}) {
      const made = await db.transaction(async tx => {
        if (templateId === undefined) return makeEmptyImport(tx, {org, person, ...body, connectorId: body.connectorId!})
        const template = await findVisible(tx, {org, person, rank: role, id: templateId})
        return makeImport(tx, {org, person, template, ...body})
      })
      return {import: describeImport(made, [])}
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/imports',
    access: {role: 'operator'},
    params: z.object({org: z.string()}),
    query: z.object({limit: limitOf({usual: 50, most: 200}), cursor: z.string().optional()}),
    async handle({db, config, caller: {org}, query}) {
      const {page, nextCursor} = await readPage(config.SECRETS_KEYS, `imports ${org}`, query, {
        as: String,
        read: ({place: before, limit}) => listImports(db, {org, before, limit}),
        placeOf: ({id}) => id,
      })
      return {imports: page.map(found => describeImport(found)), nextCursor}
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/imports/:id',
    access: {role: 'operator'},
    params: Id,
    async handle({db, caller: {org}, params: {id}}) {
      const found = await findImport(db, {org, id})
      if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
      return answer(db, found)
    },
  }),
  route({
    method: 'patch',
    path: '/orgs/:org/imports/:id',
    access: {role: 'operator'},
    params: Id,
    body: z.strictObject({name: z.string().min(1).max(200)}),
    handle: async ({db, caller: {org}, params: {id}, body: {name}, request}) =>
      answer(db, await renameImport(db, {org, id}, {name, condition: conditionOf(request)})),
  }),
  route({
    method: 'delete',
    path: '/orgs/:org/imports/:id',
    access: {role: 'operator'},
    params: Id,
    async handle({db, caller: {org, person, role}, params: {id}}) {
      await deleteImport(db, {org, id}, {person, admin: isAtLeast(role, 'admin')})
      return {removed: id}
    },
  }),
  route({
    method: 'put',
    path: '/orgs/:org/imports/:id/slots',
    access: {role: 'operator'},
    params: Id,
    body: Slots,
    async handle({db, storage, config, caller: {org}, params: {id: importId}, body}) {
      const sources = Object.entries(body).map(([slot, sourceId]) => ({slot, sourceId}))
      const bound = await fillSlots({db, storage, config}, {org, importId}, sources)
      return {import: describeImport(bound, await listSources(db, bound.no))}
    },
  }),
  route({
    method: 'put',
    path: '/orgs/:org/imports/:id/flows',
    access: {role: 'operator'},
    params: Id,
    body: Flows,
    handle({db, caller: {org}, params: {id}, body: flows}) {
      return db.transaction(async tx => {
        const found = await lockOpenImport(tx, {org, importId: id})
        const issues = findIssues(flows, await findKnown(tx, {org, importNo: found.no, connector: found.connectorId}))
        if (issues.length) throw new Refusal('INVALID', 'The flows do not fit the files or the CRM', {issues})
        await setFlows(tx, {no: found.no, flows, state: 'ready'})
        return {flows, state: 'ready'}
      })
    },
  }),
]
