import {z} from 'zod'
import {isAtLeast} from '../../shared/accounts/roles.ts'
import {tagOf} from '../../shared/configuration/version.ts'
import {createEmbeddedImport} from '../../shared/embed/create-import.ts'
import {Refusal} from '../../shared/errors.ts'
import {createImport} from '../../shared/imports/create.ts'
import {describeImport, describeWhole} from '../../shared/imports/describe.ts'
import {deleteImport, editImport} from '../../shared/imports/edit.ts'
import {checkFlows, replaceFlows} from '../../shared/imports/set-flows.ts'
import {Flows} from '../../shared/mapping/flows/flow.ts'
import {fillSlots} from '../../shared/mapping/templates/fill-slots.ts'
import {Columns, setColumns} from '../../shared/mapping/templates/set-columns.ts'
import {readLastRuns} from '../../shared/runs/last-runs.ts'
import {oneLine} from '../../shared/schema/name.ts'
import {readPage} from '../../shared/security/cursor.ts'
import {findImport, type Import, listImports} from '../../sql/imports.ts'
import {listSources} from '../../sql/sources.ts'
import {Answer, NextCursor, Removed} from '../answers/common.ts'
import {connectorId, importId, sourceId} from '../answers/examples.ts'
import {conditionOf} from '../if-match.ts'
import {Cursor, limitOf} from '../paging.ts'
import {OfImport, OfOrg} from '../params.ts'
import {ofReading} from '../refusal-lists.ts'
import {reply, replyJson} from '../reply.ts'
import {type ApiDeps, route} from '../route.ts'
import {CheckedFlows, FlowsAnswer, flow, ImportAnswer, ImportInList, importInList, wholeImport} from './imports.answers.ts'

const Name = oneLine(z.string().min(1).max(200)).describe('The name shown to users')

const NewImport = z
  .strictObject({
    name: Name.optional(),
    connectorId: z.string().optional().describe('The connection to write to. Omit it if the template names one'),
    templateId: z.string().optional().describe('The template to use. Without one, set the flows yourself'),
  })
  .refine(({connectorId, templateId}) => connectorId !== undefined || templateId !== undefined, {
    path: ['connectorId'],
    message: 'Send a connection, or a template that names one',
  })

const EditedImport = z
  .strictObject({
    name: Name.optional(),
    archived: z.boolean().optional().describe('`true`: hide the import from the list. `false`: list it again'),
  })
  .refine(({name, archived}) => name !== undefined || archived !== undefined, 'Send a name, or whether the import is archived')

const Force = z.object({
  force: z.enum(['true', 'false']).default('false').describe('`true`: flows may write fields that the settings exclude from imports'),
})

const Slots = z
  .record(z.string().max(64), z.string().max(100))
  .refine(slots => Object.keys(slots).length > 0 && Object.keys(slots).length <= 20, 'Send 1 to 20 slots, each with the id of a source')
  .describe('Source ids by slot: 1 to 20')

const answer = async (input: AnswerImportInput, found: Import) => {
  const {body, headers} = await replyWhole(input, found)
  return reply({body, headers: {...headers, etag: tagOf(found.version)}})
}

type AnswerImportInput = Pick<ApiDeps, 'db' | 'parsing'> & {caller: {org: string}}

const replyWhole = async ({db, parsing, caller: {org}}: AnswerImportInput, found: Import) =>
  replyJson(`{"import":${await describeWhole(parsing, {org, found, sources: await listSources(db, found.no)})}}`)

export default [
  route({
    method: 'post',
    path: '/orgs/:org/imports',
    operationId: 'createImport',
    tag: 'Imports',
    access: {role: 'operator', embed: 'scope'},
    summary: 'Create an import',
    description: 'Next, add files, set the flows and start a run. An import with a template has its flows already and needs only files.',
    answers: {201: ImportAnswer},
    refusals: ['CONNECTION_NOT_FOUND', 'CONNECTION_REQUIRED', 'NOT_FOUND', 'EMBED_LIMIT'],
    example: {
      body: {name: 'Accounts of March', connectorId},
      answer: {import: {...wholeImport, state: 'draft', version: 1, flows: [], sources: []}},
    },
    params: OfOrg,
    body: NewImport,
    status: 201,
    handle: async input => {
      const {db, caller, body} = input
      const {embed} = caller
      return replyWhole(input, await (embed ? createEmbeddedImport(db, {...caller, embed}, body) : createImport(db, caller, body)))
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/imports',
    operationId: 'listImports',
    tag: 'Imports',
    access: {role: 'operator'},
    summary: 'List the imports of the org',
    answers: {200: Answer({imports: z.array(ImportInList).describe('Newest first'), nextCursor: NextCursor})},
    refusals: ['INVALID_CURSOR'],
    example: {query: {limit: '50', name: 'march'}, answer: {imports: [importInList], nextCursor: null}},
    params: OfOrg,
    query: z.object({
      limit: limitOf({usual: 50, most: 200}),
      cursor: Cursor,
      name: z.string().max(200).optional().describe('Lists only imports whose name contains this text, in any case'),
      archived: z
        .enum(['true', 'false', 'all'])
        .default('false')
        .describe('`true`: lists only archived imports. `all`: lists archived imports too'),
      lastRun: z.enum(['true', 'false']).default('false').describe('`true`: each import has its `lastRun`'),
    }),
    async handle({db, config, caller: {org}, query}) {
      const filter = {name: query.name || null, archived: query.archived === 'all' ? null : query.archived === 'true'}
      const {page, nextCursor} = await readPage(config.SECRETS_KEYS, `imports ${org}`, query, {
        as: String,
        read: ({place: before, limit}) => listImports(db, {org, before, limit, ...filter}),
        placeOf: ({id}) => id,
      })
      const runOf = query.lastRun === 'true' ? await readLastRuns(db, page) : null
      return {imports: page.map(found => ({...describeImport(found), ...(runOf && {lastRun: runOf(found)})})), nextCursor}
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/imports/:id',
    operationId: 'readImport',
    tag: 'Imports',
    access: {role: 'operator', embed: 'own'},
    summary: 'Read an import with its files',
    description: 'The `ETag` of the response is the version of the import.',
    answers: {200: ImportAnswer},
    refusals: ['IMPORT_NOT_FOUND'],
    example: {answer: {import: wholeImport}},
    params: OfImport,
    async handle(input) {
      const found = await findImport(input.db, {org: input.caller.org, id: input.params.id})
      if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'There is no such import')
      return answer(input, found)
    },
  }),
  route({
    method: 'patch',
    path: '/orgs/:org/imports/:id',
    operationId: 'renameImport',
    tag: 'Imports',
    access: {role: 'operator'},
    summary: 'Rename or archive an import',
    description:
      'An archived import is hidden from the list; everything else stays as it is. With `If-Match`, applies only to that version. The `ETag` is the new version. The same name creates none, and neither does archiving.',
    answers: {200: ImportAnswer},
    refusals: ['IMPORT_NOT_FOUND', 'BAD_IF_MATCH', 'IMPORT_CONFLICT'],
    example: {body: {name: 'Accounts of March'}, answer: {import: wholeImport}},
    params: OfImport,
    body: EditedImport,
    handle: async input =>
      answer(input, await editImport(input.db, input.caller, {id: input.params.id, ...input.body, condition: conditionOf(input.request)})),
  }),
  route({
    method: 'delete',
    path: '/orgs/:org/imports/:id',
    operationId: 'deleteImport',
    tag: 'Imports',
    access: {role: 'operator'},
    summary: 'Delete an import',
    description: 'Allowed to its creator and to admins. Deletes its files and the records of its runs too.',
    answers: {200: Removed('imp', 'The deleted import')},
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
    operationId: 'setImportSlots',
    tag: 'Imports',
    access: {role: 'operator', embed: 'own'},
    mayRefuseAfterChange: true,
    summary: 'Assign files to the slots of the template',
    description:
      'Each file is read with the options of its slot. The import is ready once every slot is filled and all flows fit. The `ETag` is the new version.',
    answers: {200: ImportAnswer},
    refusals: ['IMPORT_NOT_FOUND', 'FILE_GONE', 'IMPORT_RUNNING', 'SOURCE_NOT_FOUND', 'FAILED_FILE', 'BUSY', ...ofReading],
    example: {body: {accounts: sourceId}, answer: {import: wholeImport}},
    params: OfImport,
    body: Slots,
    async handle(input) {
      const sources = Object.entries(input.body).map(([slot, sourceId]) => ({slot, sourceId}))
      return answer(input, await fillSlots(input, {org: input.caller.org, importId: input.params.id}, sources))
    },
  }),
  route({
    method: 'put',
    path: '/orgs/:org/imports/:id/columns',
    operationId: 'setImportColumns',
    tag: 'Imports',
    access: {role: 'operator', embed: 'own'},
    summary: 'Choose the columns for the fields of the template',
    description:
      'For a file whose columns have other names than those of the template. Every request starts with the flows of the template; only columns of its fields change. The import is ready once all flows fit.',
    answers: {200: ImportAnswer},
    refusals: ['IMPORT_NOT_FOUND', 'FILE_GONE', 'IMPORT_RUNNING', 'NO_DISCOVERY'],
    example: {body: {accounts: {Account_Name: 'Company', Phone: null}}, answer: {import: wholeImport}},
    params: OfImport,
    body: Columns,
    handle: async input =>
      answer(input, await setColumns(input.db, {org: input.caller.org, importId: input.params.id, columns: input.body})),
  }),
  route({
    method: 'put',
    path: '/orgs/:org/imports/:id/flows',
    operationId: 'setImportFlows',
    tag: 'Imports',
    access: {role: 'operator'},
    summary: 'Set the flows of an import',
    description:
      'Replaces all flows. They are validated against the files, the libraries and the latest discovery, and refused with `issues` if they do not fit. The settings of a module complete its flows: a flow without `match` gets the module’s default, and a new flow gets the default mappings of fields that it does not name. The answer has the completed flows. `warnings` lists mapped fields that the chosen layout lacks. With `If-Match`, applies only to that version of the import. The `ETag` is the new version.',
    answers: {200: FlowsAnswer},
    refusals: [
      'IMPORT_NOT_FOUND',
      'FILE_GONE',
      'IMPORT_RUNNING',
      'NO_DISCOVERY',
      'BAD_IF_MATCH',
      'IMPORT_CONFLICT',
      'MODULE_DISABLED',
      'FIELD_MAPPED',
      'ROLE_REQUIRED',
    ],
    example: {body: [flow], answer: {flows: [flow], state: 'ready', warnings: []}},
    params: OfImport,
    body: Flows,
    query: Force,
    async handle({db, caller: {org, role}, params: {id}, body, query, request}) {
      const input = {org, role, importId: id, flows: body, condition: conditionOf(request), force: query.force === 'true'}
      const {flows, version, warnings} = await replaceFlows(db, input)
      return reply({json: {flows, state: 'ready', warnings}, headers: {etag: tagOf(version)}})
    },
  }),
  route({
    method: 'post',
    path: '/orgs/:org/flows/check',
    operationId: 'checkFlows',
    tag: 'Imports',
    access: {role: 'operator'},
    effect: 'read',
    summary: 'Check flows before a file is uploaded',
    description:
      'Validates flows as `PUT …/flows` does, against the libraries and the latest discovery, but without files: names of columns are not checked. Stores nothing. The answer has the flows as completed by the settings of their modules. The default mappings of fields are left out, because they need a file.',
    answers: {200: CheckedFlows},
    refusals: ['CONNECTION_NOT_FOUND', 'NO_DISCOVERY', 'MODULE_DISABLED', 'FIELD_MAPPED'],
    example: {body: {connectorId, flows: [flow]}, answer: {flows: [flow], warnings: []}},
    params: OfOrg,
    body: z.strictObject({connectorId: z.string().max(100).describe('The connection to write to'), flows: Flows}),
    query: Force,
    handle: ({db, caller: {org}, body, query}) => checkFlows(db, {org, ...body, force: query.force === 'true'}),
  }),
]
