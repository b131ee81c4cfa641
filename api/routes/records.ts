import {z} from 'zod'
import {Refusal} from '../../shared/errors.ts'
import {idsAtOnce, notingAllowance, readByIds} from '../../shared/records/by-ids.ts'
import {readOne, searchByValue, searchByWord} from '../../shared/records/find.ts'
import {openModule} from '../../shared/records/module.ts'
import type {Member} from '../access.ts'
import {limitOf} from '../page.ts'
import {route, type Tools} from '../route.ts'

const OfModule = z.object({org: z.string(), id: z.string(), module: z.string()})
const OfRecord = OfModule.extend({recordId: z.string()})
const list = z
  .string()
  .default('')
  .transform(text =>
    text
      .split(',')
      .map(name => name.trim())
      .filter(Boolean),
  )

/** What the API asks the CRM itself: reads that are its own answer. They end when the caller goes. */
export default [
  route({
    method: 'get',
    path: '/orgs/:org/connectors/:id/records/:module/by-ids',
    access: {role: 'operator'},
    params: OfModule,
    query: z.object({ids: list, fields: list, check: list, run: z.string().optional()}),
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
    params: OfModule,
    query: z.object({word: z.string(), page: limitOf({usual: 1, most: 1_000_000}), perPage: limitOf({usual: 20, most: 200})}),
    handle: async input => ({records: await searchByWord(await open(input), input.query, input.request)}),
  }),

  route({
    method: 'get',
    path: '/orgs/:org/connectors/:id/records/:module/search',
    access: {role: 'operator'},
    params: OfModule,
    query: z.object({field: z.string(), value: z.string()}),
    handle: async input => ({records: await searchByValue(await open(input), input.query, input.request)}),
  }),

  route({
    method: 'get',
    path: '/orgs/:org/connectors/:id/records/:module/:recordId',
    access: {role: 'operator'},
    params: OfRecord,
    handle: async input => ({record: await readOne(await open(input), input.params.recordId, input.request)}),
  }),
]

const open = (input: Pick<Tools, 'db' | 'crm'> & {caller: Member; params: z.output<typeof OfModule>}) =>
  openModule(input, {org: input.caller.org, connector: input.params.id, module: input.params.module})
