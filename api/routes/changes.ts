import {z} from 'zod'
import {readHistory} from '../../shared/registry/history.ts'
import {PAGES} from '../../shared/registry/pages.ts'
import {limitOf} from '../page.ts'
import {route} from '../route.ts'

const Page = z.enum(PAGES)
/** Named once or again and again. */
const pages = z.union([Page.transform(page => [page]), z.array(Page)]).optional()

export default [
  route({
    method: 'get',
    path: '/orgs/:org/config/changes',
    access: {role: 'operator'},
    query: z.object({
      connector: z.string().optional(),
      page: pages,
      limit: limitOf({usual: 50, most: 200}),
      cursor: z.string().optional(),
    }),
    handle: ({db, config, caller: {org}, query: {page, ...asked}}) => readHistory(db, config.SECRETS_KEYS, {org, ...asked, pages: page}),
  }),
]
