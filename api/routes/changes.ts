import {z} from 'zod'
import {readHistory} from '../../shared/configuration/history.ts'
import {PAGES} from '../../shared/configuration/pages.ts'
import {ChangePage, changeExample} from '../answers/changes.ts'
import {Cursor, limitOf} from '../paging.ts'
import {connector} from '../params.ts'
import {route} from '../route.ts'

const Page = z.enum(PAGES)
/** The query parameter for the pages. It may be repeated to name several. */
const pages = z
  .union([Page.transform(page => [page]), z.array(Page)])
  .optional()
  .describe('Only changes on these settings pages')

export default [
  route({
    method: 'get',
    path: '/orgs/:org/config/changes',
    operationId: 'listChanges',
    tag: 'Configuration',
    access: {role: 'operator'},
    summary: 'Read the history of the settings',
    description:
      'Every changed value, who changed it and how. Changes of modules, fields and write pauses are included only for the connection given in `connector`.',
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
