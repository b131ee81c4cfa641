import {z} from 'zod'
import {idsAtOnce, readByIds, withQuotaNote} from '../../shared/crm/records/by-ids.ts'
import {readOne, searchByValue, searchByWord} from '../../shared/crm/records/find.ts'
import {openModule} from '../../shared/crm/records/module.ts'
import {type Code, Refusal} from '../../shared/errors.ts'
import type {MemberCaller} from '../access.ts'
import {Answer, ByName, Json} from '../answers/common.ts'
import {limitOf} from '../paging.ts'
import {type ApiDeps, route} from '../route.ts'

/** Refusals of routes that call the CRM while the caller waits. */
const ofCrm = [
  'CONNECTION_UNAVAILABLE',
  'CONNECTION_THROTTLED',
  'DAILY_ALLOWANCE_SPENT',
  'CRM_REFUSED',
  'NOT_OFFERED',
] as const satisfies readonly Code[]

/** A record as the CRM sends it. Its fields depend on the CRM. Lookups are objects, and subforms are lists of rows. */
const CrmRecord = ByName(Json('The value of the field, as sent by the CRM'), 'A CRM record, by API names of fields').meta({
  id: 'CrmRecord',
  description:
    'A CRM record as sent by the CRM, by API names of fields. Has always `id`, and `$display_name` if the naming field of the module is filled',
})

const OfModule = z.object({
  org: z.string(),
  id: z.string().describe('The connection (`con_`)'),
  module: z.string().describe("The module's API name"),
})
const ofRecords = Answer({records: z.array(CrmRecord).describe('The records found')})
const list = (what: string) =>
  z
    .string()
    .default('')
    .transform(text =>
      text
        .split(',')
        .map(name => name.trim())
        .filter(Boolean),
    )
    .describe(what)

/** Routes that read from the CRM while the caller waits. The read is aborted when the client disconnects. */
export default [
  route({
    method: 'get',
    path: '/orgs/:org/connectors/:id/records/:module/by-ids',
    operationId: 'readRecordsByIds',
    tag: 'Records',
    access: {role: 'operator'},
    summary: 'Read up to 100 records by id',
    description: `Makes one CRM call per 50 fields, or per 50 ids at a generic destination. Subforms and multi-lookup fields are not included;
read a single record for them.`,
    answers: {
      200: Answer({
        records: z
          .array(CrmRecord.nullable().describe('Null: the CRM has no such record'))
          .describe('One entry per id, in the order of the ids'),
        dropped: z.array(z.string()).describe('Names in `fields` or `check` that this response cannot include'),
      }),
    },
    refusals: ['BATCH_SIZE', 'NOT_FOUND', 'MODULE_NOT_FOUND', ...ofCrm],
    example: {query: {ids: '5725767000000411001,5725767000000411002', fields: 'Last_Name,Email'}},
    params: OfModule,
    query: z.object({
      ids: list('Up to 100 ids, comma separated'),
      fields: list('API names of fields, comma separated. Default: every field that this response can include'),
      check: list('Without `fields`: names to check. Those that are not fields of the module are returned in `dropped`'),
      run: z.string().optional().describe('The run that needs the records. If the daily quota is exhausted, the run records it'),
    }),
    async handle(input) {
      const {db, caller, params, query, request} = input
      const {run, ...asked} = query
      const {length} = asked.ids
      if (length < 1 || length > idsAtOnce) throw new Refusal('BATCH_SIZE', `Send 1 to ${idsAtOnce} ids, comma separated, in ?ids=`)
      const opened = await open(input)
      return withQuotaNote(db, {org: caller.org, connector: params.id, run}, () => readByIds(opened, asked, request))
    },
  }),

  route({
    method: 'get',
    path: '/orgs/:org/connectors/:id/records/:module/word-search',
    operationId: 'searchRecordsByWord',
    tag: 'Records',
    access: {role: 'operator'},
    summary: 'Search records by a word',
    description: "Uses the CRM's free-text search. Paged.",
    answers: {200: ofRecords},
    refusals: ['NOT_FOUND', 'MODULE_NOT_FOUND', ...ofCrm],
    example: {query: {word: 'example', perPage: '20'}},
    params: OfModule,
    query: z.object({
      word: z.string().describe('The search text, at most 100 characters'),
      page: limitOf({usual: 1, most: 1_000_000, what: 'Page number, from 1'}),
      perPage: limitOf({usual: 20, most: 200, what: 'Records per page'}),
    }),
    handle: async input => ({records: await searchByWord(await open(input), input.query, input.request)}),
  }),

  route({
    method: 'get',
    path: '/orgs/:org/connectors/:id/records/:module/search',
    operationId: 'searchRecordsByValue',
    tag: 'Records',
    access: {role: 'operator'},
    summary: 'Find records by the value of a field',
    description: 'Compares values as matching does: trimmed, and ignoring case if the field does.',
    answers: {200: ofRecords},
    refusals: ['NOT_FOUND', 'MODULE_NOT_FOUND', ...ofCrm],
    example: {query: {field: 'Email', value: 'ana@example.org'}},
    params: OfModule,
    query: z.object({
      field: z.string().describe("The field's API name"),
      value: z.string().describe('The value of the field'),
    }),
    handle: async input => ({records: await searchByValue(await open(input), input.query, input.request)}),
  }),

  route({
    method: 'get',
    path: '/orgs/:org/connectors/:id/records/:module/:recordId',
    operationId: 'readRecord',
    tag: 'Records',
    access: {role: 'operator'},
    summary: 'Read one record with all its fields',
    answers: {200: Answer({record: CrmRecord})},
    refusals: ['NOT_FOUND', 'MODULE_NOT_FOUND', ...ofCrm],
    params: OfModule.extend({recordId: z.string().describe("The record's id at the CRM")}),
    handle: async input => ({record: await readOne(await open(input), input.params.recordId, input.request)}),
  }),
]

const open = (input: Pick<ApiDeps, 'db' | 'crm'> & {caller: MemberCaller; params: z.output<typeof OfModule>}) =>
  openModule(input, {org: input.caller.org, connector: input.params.id, module: input.params.module})
