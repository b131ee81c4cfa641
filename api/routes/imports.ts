import {z} from 'zod'
import {readPage} from '../../shared/cursor.ts'
import {Refusal} from '../../shared/errors.ts'
import {Flows, findIssues} from '../../shared/flows/flow.ts'
import {oneLine} from '../../shared/name.ts'
import {isAtLeast} from '../../shared/people/roles.ts'
import {assertVersion, tagOf} from '../../shared/registry/version.ts'
import {createImport} from '../../shared/runs/create-import.ts'
import {describeImport, describeWhole} from '../../shared/runs/describe-import.ts'
import {deleteImport, renameImport} from '../../shared/runs/edit-import.ts'
import {findKnown} from '../../shared/runs/start.ts'
import {lockOpenImport} from '../../shared/sources/find.ts'
import {fillSlots} from '../../shared/templates/fill.ts'
import {findImport, type Import, listImports, setFlows} from '../../sql/imports.ts'
import {listSources} from '../../sql/sources.ts'
import {Answer, NextCursor} from '../answers/common.ts'
import {connectorId, flow, importId, importInList, sourceId, wholeImport} from '../answers/examples.ts'
import {FlowsAnswer, ImportAnswer, ImportInList, Removed} from '../answers/imports.ts'
import {conditionOf} from '../if-match.ts'
import {Cursor, limitOf} from '../paging.ts'
import {OfImport, OfOrg} from '../params.ts'
import {ofReading} from '../refusal-lists.ts'
import {reply, replyJson} from '../reply.ts'
import {route, type Tools} from '../route.ts'

const Name = oneLine(z.string().min(1).max(200)).describe('What people call it')

const NewImport = z
  .strictObject({
    name: Name.optional(),
    connectorId: z.string().optional().describe('The connection it writes through; left out where the template names one'),
    templateId: z.string().optional().describe('The template that says what is done with its files; without it flows are set'),
  })
  .refine(({connectorId, templateId}) => connectorId !== undefined || templateId !== undefined, {
    path: ['connectorId'],
    message: 'An import needs a connection, or a template that names one',
  })

/** Which of the import's files fills which slot of its template. */
const Slots = z
  .record(z.string().max(64), z.string().max(100))
  .refine(slots => Object.keys(slots).length > 0 && Object.keys(slots).length <= 20, 'Name 1 to 20 slots, each with the id of a source')
  .describe('By slot, the id of the file that fills it: 1 to 20')

/** With its version, which a change of its name is made against. */
const answer = async (asked: Answering, found: Import) => {
  const {body, headers} = await replyWhole(asked, found)
  return reply({body, headers: {...headers, etag: tagOf(found.version)}})
}

type Answering = Pick<Tools, 'db' | 'parsing'> & {caller: {org: string}}

const replyWhole = async ({db, parsing, caller: {org}}: Answering, found: Import) =>
  replyJson(`{"import":${await describeWhole(parsing, {org, found, sources: await listSources(db, found.no)})}}`)

export default [
  route({
    method: 'post',
    path: '/orgs/:org/imports',
    access: {role: 'operator'},
    summary: 'Make an import',
    description: 'Give it files, set its flows, then run it. One of a template has its flows already, and waits for its files.',
    answers: {201: ImportAnswer},
    refusals: ['CONNECTION_NOT_FOUND', 'CONNECTION_REQUIRED', 'NOT_FOUND'],
    example: {
      body: {name: 'Accounts of March', connectorId},
      answer: {import: {...wholeImport, state: 'draft', version: 1, flows: [], sources: []}},
    },
    params: OfOrg,
    body: NewImport,
    status: 201,
    handle: async input => replyWhole(input, await createImport(input.db, input.caller, input.body)),
  }),
  route({
    method: 'get',
    path: '/orgs/:org/imports',
    access: {role: 'operator'},
    summary: 'List the imports of the org',
    answers: {200: Answer({imports: z.array(ImportInList).describe('The newest first'), nextCursor: NextCursor})},
    refusals: ['INVALID_CURSOR'],
    example: {query: {limit: '50'}, answer: {imports: [importInList], nextCursor: null}},
    params: OfOrg,
    query: z.object({limit: limitOf({usual: 50, most: 200}), cursor: Cursor}),
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
    summary: 'Read an import with its files',
    description: 'The answer carries its version as `ETag`.',
    answers: {200: ImportAnswer},
    refusals: ['IMPORT_NOT_FOUND'],
    example: {answer: {import: wholeImport}},
    params: OfImport,
    async handle(input) {
      const found = await findImport(input.db, {org: input.caller.org, id: input.params.id})
      if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
      return answer(input, found)
    },
  }),
  route({
    method: 'patch',
    path: '/orgs/:org/imports/:id',
    access: {role: 'operator'},
    summary: 'Rename an import',
    description: 'With `If-Match` only at that version. The answer carries the new one as `ETag`; the same name makes none.',
    answers: {200: ImportAnswer},
    refusals: ['IMPORT_NOT_FOUND', 'BAD_IF_MATCH', 'IMPORT_CONFLICT'],
    example: {body: {name: 'Accounts of March'}, answer: {import: wholeImport}},
    params: OfImport,
    body: z.strictObject({name: Name}),
    handle: async input =>
      answer(
        input,
        await renameImport(input.db, input.caller, {id: input.params.id, name: input.body.name, condition: conditionOf(input.request)}),
      ),
  }),
  route({
    method: 'delete',
    path: '/orgs/:org/imports/:id',
    access: {role: 'operator'},
    summary: 'Delete an import',
    description: 'Whoever made it may, and an admin. Its files and the records of its runs go with it.',
    answers: {200: Removed('imp', 'The import that is no more')},
    refusals: ['IMPORT_NOT_FOUND', 'ROLE_REQUIRED', 'IMPORT_RUNNING'],
    example: {answer: {removed: importId}},
    params: OfImport,
    async handle({db, caller, params: {id}}) {
      await deleteImport(db, caller, {id, admin: isAtLeast(caller.role, 'admin')})
      return {removed: id}
    },
  }),
  route({
    method: 'put',
    path: '/orgs/:org/imports/:id/slots',
    access: {role: 'operator'},
    summary: 'Say which files fill the slots of its template',
    description: 'Each file is read as its slot says. The import is ready once every slot is filled and all fits.',
    answers: {200: ImportAnswer},
    refusals: ['IMPORT_NOT_FOUND', 'FILE_GONE', 'IMPORT_RUNNING', 'SOURCE_NOT_FOUND', 'BUSY', ...ofReading],
    example: {body: {accounts: sourceId}, answer: {import: wholeImport}},
    params: OfImport,
    body: Slots,
    async handle(input) {
      const sources = Object.entries(input.body).map(([slot, sourceId]) => ({slot, sourceId}))
      return replyWhole(input, await fillSlots(input, {org: input.caller.org, importId: input.params.id}, sources))
    },
  }),
  route({
    method: 'put',
    path: '/orgs/:org/imports/:id/flows',
    access: {role: 'operator'},
    summary: 'Set what of its files is written where',
    description:
      'All flows at once; held against the files, the libraries and the newest discovery, and refused with `issues` where they do not fit. With `If-Match` only at that version of the import; the answer carries the new one as `ETag`.',
    answers: {200: FlowsAnswer},
    refusals: ['IMPORT_NOT_FOUND', 'FILE_GONE', 'IMPORT_RUNNING', 'NO_DISCOVERY', 'BAD_IF_MATCH', 'IMPORT_CONFLICT'],
    example: {body: [flow], answer: {flows: [flow], state: 'ready'}},
    params: OfImport,
    body: Flows,
    handle({db, caller: {org}, params: {id}, body: flows, request}) {
      const condition = conditionOf(request)
      return db.transaction(async tx => {
        const found = await lockOpenImport(tx, {org, importId: id})
        assertVersion('import', found, condition)
        const issues = findIssues(flows, await findKnown(tx, {org, importNo: found.no, connector: found.connectorId}))
        if (issues.length) throw new Refusal('INVALID', 'The flows do not fit the files or the CRM', {issues})
        const {version} = await setFlows(tx, {no: found.no, flows, state: 'ready'})
        return reply({json: {flows, state: 'ready'}, headers: {etag: tagOf(version)}})
      })
    },
  }),
]
