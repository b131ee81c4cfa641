import {z} from 'zod'
import {Refusal} from '../../shared/errors.ts'
import {idsAtOnce, notingAllowance, readByIds} from '../../shared/records/by-ids.ts'
import {readOne, searchByValue, searchByWord} from '../../shared/records/find.ts'
import {openModule} from '../../shared/records/module.ts'
import type {Member} from '../access.ts'
import {Answer, ofCrm} from '../answers/common.ts'
import {CrmRecord} from '../answers/connections.ts'
import {limitOf} from '../paging.ts'
import {route, type Tools} from '../route.ts'

const OfModule = z.object({
  org: z.string(),
  id: z.string().describe('The connection (`con_`)'),
  module: z.string().describe("The module's API name"),
})
const ofRecords = Answer({records: z.array(CrmRecord).describe('What was found')})
const OfRecord = OfModule.extend({recordId: z.string().describe("The record's id at the CRM")})
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

/** What the API asks the CRM itself: reads that are its own answer. They end when the caller goes. */
export default [
  route({
    method: 'get',
    path: '/orgs/:org/connectors/:id/records/:module/by-ids',
    access: {role: 'operator'},
    summary: 'Read up to a hundred records by id',
    description:
      'The CRM is asked once for every fifty fields. Subforms and fields of many lookups are in no such answer: read one record for them.',
    answers: {
      200: Answer({
        records: z.array(CrmRecord.nullable().describe('Null: the CRM has no such record')).describe('One for each id, in the order asked'),
        dropped: z.array(z.string()).describe('Names asked for, or to be checked, that such an answer cannot carry'),
      }),
    },
    refusals: ['BATCH_SIZE', 'NOT_FOUND', 'MODULE_NOT_FOUND', ...ofCrm],
    example: {query: {ids: '5725767000000411001,5725767000000411002', fields: 'Last_Name,Email'}},
    params: OfModule,
    query: z.object({
      ids: list('Up to 100 ids, comma separated'),
      fields: list('API names of fields, comma separated; every field that such an answer can carry when left out'),
      check: list('Names that are told in `dropped` where they are no field of the module, when `fields` is left out'),
      run: z.string().optional().describe('The run this is read for: it is noted there when the allowance of the day is spent'),
    }),
    async handle(input) {
      const {db, caller, params, query, request} = input
      const {run, ...asked} = query
      const {length} = asked.ids
      if (length < 1 || length > idsAtOnce) throw new Refusal('BATCH_SIZE', `Name 1 to ${idsAtOnce} ids, comma separated: ?ids=`)
      const opened = await open(input)
      return notingAllowance(db, {org: caller.org, connector: params.id, run}, () => readByIds(opened, asked, request))
    },
  }),

  route({
    method: 'get',
    path: '/orgs/:org/connectors/:id/records/:module/word-search',
    access: {role: 'operator'},
    summary: 'Search records by a word',
    description: "What the CRM's own free-text search finds, page by page.",
    answers: {200: ofRecords},
    refusals: ['NOT_FOUND', 'MODULE_NOT_FOUND', ...ofCrm],
    example: {query: {word: 'example', perPage: '20'}},
    params: OfModule,
    query: z.object({
      word: z.string().describe('What is searched for'),
      page: limitOf({usual: 1, most: 1_000_000, what: 'Which page, from 1'}),
      perPage: limitOf({usual: 20, most: 200, what: 'Records of a page'}),
    }),
    handle: async input => ({records: await searchByWord(await open(input), input.query, input.request)}),
  }),

  route({
    method: 'get',
    path: '/orgs/:org/connectors/:id/records/:module/search',
    access: {role: 'operator'},
    summary: 'Find the records whose field has a value',
    description: 'Compared as matching compares: without regard to case where the field does, spaces at the ends left out.',
    answers: {200: ofRecords},
    refusals: ['NOT_FOUND', 'MODULE_NOT_FOUND', ...ofCrm],
    example: {query: {field: 'Email', value: 'ana@example.org'}},
    params: OfModule,
    query: z.object({
      field: z.string().describe("The field's API name"),
      value: z.string().describe('The value it has'),
    }),
    handle: async input => ({records: await searchByValue(await open(input), input.query, input.request)}),
  }),

  route({
    method: 'get',
    path: '/orgs/:org/connectors/:id/records/:module/:recordId',
    access: {role: 'operator'},
    summary: 'Read one record with everything of it',
    answers: {200: Answer({record: CrmRecord})},
    refusals: ['NOT_FOUND', 'MODULE_NOT_FOUND', ...ofCrm],
    params: OfRecord,
    handle: async input => ({record: await readOne(await open(input), input.params.recordId, input.request)}),
  }),
]

const open = (input: Pick<Tools, 'db' | 'crm'> & {caller: Member; params: z.output<typeof OfModule>}) =>
  openModule(input, {org: input.caller.org, connector: input.params.id, module: input.params.module})
