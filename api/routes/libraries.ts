import {z} from 'zod'
import {readPage} from '../../shared/cursor.ts'
import {describeLibrary, PublishedLibrary, readLibrary} from '../../shared/libraries/library.ts'
import {listLibraries} from '../../shared/libraries/list.ts'
import {moveLibrary} from '../../shared/libraries/management.ts'
import {publishLibrary, removeLibrary, restoreLibrary} from '../../shared/libraries/publish.ts'
import {listVersions} from '../../sql/libraries.ts'
import {impersonationRefused} from '../access.ts'
import {answerWrite, conditionOf, proposed} from '../if-match.ts'
import {limitOf} from '../page.ts'
import {route} from '../route.ts'

const OfLibrary = z.object({org: z.string(), namespace: z.string()})
const OfVersion = OfLibrary.extend({version: z.string().regex(/^[1-9]\d{0,8}$/, 'A whole number: 1 for v1')})

export default [
  route({
    method: 'get',
    path: '/orgs/:org/libraries',
    access: {role: 'operator'},
    query: z.object({source: z.string().optional()}),
    handle: async ({db, caller: {org}, query}) => ({libraries: await listLibraries(db, org, {source: query.source === 'true'})}),
  }),

  route({
    method: 'get',
    path: '/orgs/:org/libraries/:namespace',
    access: {role: 'operator'},
    params: OfLibrary,
    async handle({db, caller: {org}, params: {namespace}}) {
      return {library: describeLibrary(await readLibrary(db, {org, namespace}), {source: true})}
    },
  }),

  route({
    method: 'put',
    path: '/orgs/:org/libraries/:namespace',
    access: {role: 'admin'},
    params: OfLibrary,
    query: z.object({proposedBy: proposed}),
    body: PublishedLibrary,
    async handle({db, caller, params: {namespace}, query, body, request}) {
      const {library, told} = await publishLibrary(db, caller, {namespace, condition: conditionOf(request), ...query}, body)
      return answerWrite({library: describeLibrary(library, {source: false})}, told)
    },
  }),

  route({
    method: 'delete',
    path: '/orgs/:org/libraries/:namespace',
    access: {role: 'admin'},
    params: OfLibrary,
    async handle({db, caller, params: {namespace}, request}) {
      const {library, told} = await removeLibrary(db, caller, {namespace, condition: conditionOf(request)})
      return answerWrite({library: describeLibrary(library, {source: false})}, told)
    },
  }),

  route({
    method: 'get',
    path: '/orgs/:org/libraries/:namespace/versions',
    access: {role: 'operator'},
    params: OfLibrary,
    query: z.object({limit: limitOf({usual: 50, most: 200}), cursor: z.string().optional()}),
    async handle({db, config, caller: {org}, params: {namespace}, query}) {
      const {id: library} = await readLibrary(db, {org, namespace})
      const {page, nextCursor} = await readPage(config.SECRETS_KEYS, `versions ${library}`, query, {
        as: Number,
        read: ({place: before, limit}) => listVersions(db, {library, before, limit}),
        placeOf: ({versionNumber}) => versionNumber,
      })
      return {versions: page, nextCursor}
    },
  }),

  route({
    method: 'post',
    path: '/orgs/:org/libraries/:namespace/versions/:version/restore',
    access: {role: 'admin'},
    params: OfVersion,
    async handle({db, caller, params: {namespace, version}, request}) {
      const asked = {namespace, versionNumber: Number(version), condition: conditionOf(request)}
      const {library, told} = await restoreLibrary(db, caller, asked)
      return answerWrite({library: describeLibrary(library, {source: false})}, told)
    },
  }),

  // A view may hand a library to people, never to the repository: only its body tells which is meant.
  route({
    method: 'put',
    path: '/orgs/:org/libraries/:namespace/management',
    access: {role: 'admin', sessionOnly: true},
    params: OfLibrary,
    body: z.strictObject({managedBy: z.literal('sdk').nullable(), libraryId: z.string().optional()}),
    async handle({db, caller, params: {namespace}, body}) {
      if (caller.staffView && body.managedBy === 'sdk') throw impersonationRefused()
      const {library, changed} = await moveLibrary(db, caller, {namespace, ...body})
      return {library: describeLibrary(library, {source: false}), changed}
    },
  }),
]
