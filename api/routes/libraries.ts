import {z} from 'zod'
import {readPage} from '../../shared/cursor.ts'
import {describeLibrary, PublishedLibrary, readLibrary} from '../../shared/libraries/library.ts'
import {listLibraries} from '../../shared/libraries/list.ts'
import {moveLibrary} from '../../shared/libraries/management.ts'
import {publishLibrary, removeLibrary, restoreLibrary} from '../../shared/libraries/publish.ts'
import {listVersions} from '../../sql/libraries.ts'
import {impersonationRefused} from '../access.ts'
import {
  LibraryChanged,
  LibraryList,
  LibraryMoved,
  LibraryRead,
  libraryExample,
  ofLoading,
  publishedExample,
  VersionPage,
  versionExample,
} from '../answers/libraries.ts'
import {answerEdit, ofCondition, ofEdit, proposed} from '../config-edit.ts'
import {conditionOf} from '../if-match.ts'
import {Cursor, limitOf} from '../paging.ts'
import {OfOrg} from '../params.ts'
import {route} from '../route.ts'

const OfLibrary = OfOrg.extend({namespace: z.string().describe('What expressions call the library by')})
const OfVersion = OfLibrary.extend({
  version: z
    .string()
    .regex(/^[1-9]\d{0,8}$/, 'A whole number: 1 for v1')
    .describe('The number of the version'),
})

export default [
  route({
    method: 'get',
    path: '/orgs/:org/libraries',
    access: {role: 'operator'},
    summary: 'List the helper libraries',
    answers: {200: LibraryList},
    refusals: [],
    example: {answer: {libraries: [libraryExample]}},
    query: z.object({source: z.string().optional().describe('`true`: with their sources')}),
    handle: async ({db, caller: {org}, query}) => ({libraries: await listLibraries(db, org, {source: query.source === 'true'})}),
  }),

  route({
    method: 'get',
    path: '/orgs/:org/libraries/:namespace',
    access: {role: 'operator'},
    summary: 'Read a helper library with its source',
    answers: {200: LibraryRead},
    refusals: ['NOT_FOUND'],
    example: {answer: {library: {...libraryExample, source: publishedExample.source}}},
    params: OfLibrary,
    async handle({db, caller: {org}, params: {namespace}}) {
      return {library: describeLibrary(await readLibrary(db, {org, namespace}), {source: true})}
    },
  }),

  route({
    method: 'put',
    path: '/orgs/:org/libraries/:namespace',
    access: {role: 'admin'},
    summary: 'Publish the next version of a helper library',
    description: `Or the first. It is loaded in a sandbox and its examples are run before anything is kept; what is published already, to the letter, makes no version. A first publish by an API token makes it the configuration repository's (\`managedBy: sdk\`), any other people's; then only those publish it. ${ofCondition}`,
    answers: {200: LibraryChanged},
    refusals: [...ofEdit, 'FEATURE_HELPER_LIBRARIES', 'LIBRARY_MANAGED', 'NAMESPACE_MISMATCH', ...ofLoading],
    example: {
      params: {org: 'org_01k9m0v6f8e2r4t7w3y5z1a2b3', namespace: 'names'},
      body: publishedExample,
      answer: {library: libraryExample},
    },
    params: OfLibrary,
    query: z.object({proposedBy: proposed}),
    body: PublishedLibrary,
    async handle({db, caller, params: {namespace}, query, body, request}) {
      const {library, told} = await publishLibrary(db, caller, {namespace, condition: conditionOf(request), ...query}, body)
      return answerEdit({library: describeLibrary(library, {source: false})}, told)
    },
  }),

  route({
    method: 'delete',
    path: '/orgs/:org/libraries/:namespace',
    access: {role: 'admin'},
    summary: 'Remove a helper library with its history',
    description: `Answers it as it was. A library published under its name later is another one. ${ofCondition}`,
    answers: {200: LibraryChanged},
    refusals: [...ofEdit, 'LIBRARY_MANAGED'],
    params: OfLibrary,
    async handle({db, caller, params: {namespace}, request}) {
      const {library, told} = await removeLibrary(db, caller, {namespace, condition: conditionOf(request)})
      return answerEdit({library: describeLibrary(library, {source: false})}, told)
    },
  }),

  route({
    method: 'get',
    path: '/orgs/:org/libraries/:namespace/versions',
    access: {role: 'operator'},
    summary: 'List the versions of a helper library',
    answers: {200: VersionPage},
    refusals: ['NOT_FOUND', 'INVALID_CURSOR'],
    example: {answer: {versions: [versionExample], nextCursor: null}},
    params: OfLibrary,
    query: z.object({limit: limitOf({usual: 50, most: 200}), cursor: Cursor}),
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
    summary: 'Publish an older version of a helper library again',
    description: `As the next one; it is loaded and its examples are run anew. Of the current version nothing is made. ${ofCondition}`,
    answers: {200: LibraryChanged},
    refusals: [...ofEdit, 'FEATURE_HELPER_LIBRARIES', 'LIBRARY_MANAGED', ...ofLoading],
    example: {params: {org: 'org_01k9m0v6f8e2r4t7w3y5z1a2b3', namespace: 'names', version: '2'}, answer: {library: libraryExample}},
    params: OfVersion,
    async handle({db, caller, params: {namespace, version}, request}) {
      const asked = {namespace, versionNumber: Number(version), condition: conditionOf(request)}
      const {library, told} = await restoreLibrary(db, caller, asked)
      return answerEdit({library: describeLibrary(library, {source: false})}, told)
    },
  }),

  // A view may hand a library to people, never to the repository: only its body tells which is meant.
  route({
    method: 'put',
    path: '/orgs/:org/libraries/:namespace/management',
    access: {role: 'admin', sessionOnly: true},
    summary: 'Hand a helper library to the repository or to people',
    description:
      'Nothing is published and no version made. With `libraryId` it is refused where the library was removed and published again meanwhile.',
    answers: {200: LibraryMoved},
    refusals: ['NOT_FOUND', 'LIBRARY_REPLACED', 'IMPERSONATION_REFUSED'],
    example: {
      body: {managedBy: 'sdk', libraryId: libraryExample.libraryId},
      answer: {library: {...libraryExample, managedBy: 'sdk'}, changed: true},
    },
    params: OfLibrary,
    body: z.strictObject({
      managedBy: z.literal('sdk').nullable().describe('Who publishes it: `sdk`, the configuration repository; null: people'),
      libraryId: z.string().optional().describe('The library that is meant, as it was read'),
    }),
    async handle({db, caller, params: {namespace}, body}) {
      if (caller.staffView && body.managedBy === 'sdk') throw impersonationRefused()
      const {library, changed} = await moveLibrary(db, caller, {namespace, ...body})
      return {library: describeLibrary(library, {source: false}), changed}
    },
  }),
]
