import {z} from 'zod'
import {readHistory} from '../../shared/registry/history.ts'
import {PAGES} from '../../shared/registry/pages.ts'
import {ChangePage, changeExample} from '../answers/changes.ts'
import {Cursor, limitOf} from '../paging.ts'
import {connector} from '../params.ts'
import {route} from '../route.ts'

const Page = z.enum(PAGES)
/** Named once or again and again. */
const pages = z
  .union([Page.transform(page => [page]), z.array(Page)])
  .optional()
  .describe('Changes of these pages of the settings alone')

export default [
  route({
    method: 'get',
    path: '/orgs/:org/config/changes',
    access: {role: 'operator'},
    summary: 'Read the history of the settings',
    description:
      'Every value that was changed, by whom and how. Modules, fields and write pauses are told of the connection named, and of none where none is.',
    answers: {200: ChangePage},
    refusals: ['CONNECTION_NOT_FOUND', 'CONNECTION_REQUIRED', 'INVALID_CURSOR'],
    example: {query: {page: 'members', limit: '50'}, answer: {changes: [changeExample], nextCursor: null}},
    query: z.object({
      connector,
      page: pages,
      limit: limitOf({usual: 50, most: 200}),
      cursor: Cursor,
    }),
    handle: ({db, config, caller: {org}, query: {page, ...asked}}) => readHistory(db, config.SECRETS_KEYS, {org, ...asked, pages: page}),
  }),
]
