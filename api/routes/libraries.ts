import {z} from 'zod'
import {impersonationRefused} from '../../shared/accounts/impersonation.ts'
import {describeLibrary, PublishedLibrary, readLibrary} from '../../shared/expressions/libraries/library.ts'
import {listLibraries} from '../../shared/expressions/libraries/list.ts'
import {moveLibrary} from '../../shared/expressions/libraries/management.ts'
import {publishLibrary, removeLibrary, restoreLibrary} from '../../shared/expressions/libraries/publish.ts'
import {readPage} from '../../shared/security/cursor.ts'
import {listVersions} from '../../sql/libraries.ts'
import {Answer, Moment, NextCursor, registryVersion} from '../answers/common.ts'
import {Library, libraryExample, publishedExample} from '../answers/libraries.ts'
import {answerEdit, ofCondition, ofEdit, proposed} from '../config-edit.ts'
import {conditionOf} from '../if-match.ts'
import {Cursor, limitOf} from '../paging.ts'
import {OfOrg} from '../params.ts'
import {ofLoading} from '../refusal-lists.ts'
import {route} from '../route.ts'

const LibraryChanged = Answer({library: Library, registryVersion})

const {version, versionNumber} = Library.shape

const VersionPage = Answer({
  versions: z
    .array(
      Answer({
        versionNumber,
        version,
        restoredFrom: z.int().positive().nullable().describe('The older version that it restores. Null: newly published'),
        publishedBy: z.string().nullable().describe('Current name of the publisher. Null: deleted'),
        publishedAt: Moment('When it was published'),
      }),
    )
    .describe('Newest first'),
  nextCursor: NextCursor,
})

const versionExample = {
  versionNumber: 3,
  version: '1.2.0',
  restoredFrom: null,
  publishedBy: 'Ana Example',
  publishedAt: '2026-03-01T08:30:00.000Z',
}

const OfLibrary = OfOrg.extend({namespace: z.string().describe('The name by which expressions use the library')})
const OfVersion = OfLibrary.extend({
  version: z.string().regex(/^\d+$/, 'The version is not a whole number. Send 1 for v1').describe('The number of the version'),
})

export default [
  route({
    method: 'get',
    path: '/orgs/:org/libraries',
    operationId: 'listLibraries',
    tag: 'Expressions',
    access: {role: 'operator'},
    summary: 'List the helper libraries',
    answers: {200: Answer({libraries: z.array(Library).describe('By namespace')})},
    refusals: [],
    example: {answer: {libraries: [libraryExample]}},
    query: z.object({source: z.string().optional().describe('`true`: include the source code')}),
    handle: async ({db, caller: {org}, query}) => ({libraries: await listLibraries(db, org, {source: query.source === 'true'})}),
  }),

  route({
    method: 'get',
    path: '/orgs/:org/libraries/:namespace',
    operationId: 'readLibrary',
    tag: 'Expressions',
    access: {role: 'operator'},
    summary: 'Read a helper library with its source',
    answers: {200: Answer({library: Library})},
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
    operationId: 'publishLibrary',
    tag: 'Expressions',
    access: {role: 'admin'},
    summary: 'Publish the next version of a helper library',
    description: `Creates the library if needed. The source is loaded in a sandbox and its examples are run before anything is stored. Identical source creates no version. A library first published with an API token is managed by the configuration repository (\`managedBy: sdk\`), any other by people. Only that side can publish it. ${ofCondition}`,
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
      const {library, versionReply} = await publishLibrary(db, caller, {namespace, condition: conditionOf(request), ...query}, body)
      return answerEdit({library: describeLibrary(library, {source: false})}, versionReply)
    },
  }),

  route({
    method: 'delete',
    path: '/orgs/:org/libraries/:namespace',
    operationId: 'removeLibrary',
    tag: 'Expressions',
    access: {role: 'admin'},
    summary: 'Remove a helper library with its history',
    description: `Returns the library as it was. A library published under its name later is a new one. ${ofCondition}`,
    answers: {200: LibraryChanged},
    refusals: [...ofEdit, 'LIBRARY_MANAGED'],
    params: OfLibrary,
    async handle({db, caller, params: {namespace}, request}) {
      const {library, versionReply} = await removeLibrary(db, caller, {namespace, condition: conditionOf(request)})
      return answerEdit({library: describeLibrary(library, {source: false})}, versionReply)
    },
  }),

  route({
    method: 'get',
    path: '/orgs/:org/libraries/:namespace/versions',
    operationId: 'listLibraryVersions',
    tag: 'Expressions',
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
    operationId: 'restoreLibraryVersion',
    tag: 'Expressions',
    access: {role: 'admin'},
    summary: 'Publish an older version of a helper library again',
    description: `Publishes the older source as the next version, after its examples have passed again. Restoring the current version does nothing. ${ofCondition}`,
    answers: {200: LibraryChanged},
    refusals: [...ofEdit, 'FEATURE_HELPER_LIBRARIES', 'LIBRARY_MANAGED', ...ofLoading],
    example: {params: {org: 'org_01k9m0v6f8e2r4t7w3y5z1a2b3', namespace: 'names', version: '2'}, answer: {library: libraryExample}},
    params: OfVersion,
    async handle({db, caller, params: {namespace, version}, request}) {
      const asked = {namespace, versionNumber: Number(version), condition: conditionOf(request)}
      const {library, versionReply} = await restoreLibrary(db, caller, asked)
      return answerEdit({library: describeLibrary(library, {source: false})}, versionReply)
    },
  }),

  // A staff view may give the management of a library to people, but not to the repository. Only the body shows which is requested.
  route({
    method: 'put',
    path: '/orgs/:org/libraries/:namespace/management',
    operationId: 'setLibraryManagement',
    tag: 'Expressions',
    access: {role: 'admin', sessionOnly: true},
    summary: 'Change who manages a helper library',
    description:
      'Publishes nothing and creates no version. With `libraryId`, it is refused if the library was removed and published again since it was read.',
    answers: {200: Answer({library: Library, changed: z.boolean().describe('Whether this changed who manages it')})},
    refusals: ['NOT_FOUND', 'LIBRARY_REPLACED', 'IMPERSONATION_REFUSED'],
    example: {
      body: {managedBy: 'sdk', libraryId: libraryExample.libraryId},
      answer: {library: {...libraryExample, managedBy: 'sdk'}, changed: true},
    },
    params: OfLibrary,
    body: z.strictObject({
      managedBy: z.literal('sdk').nullable().describe('`sdk`: the configuration repository publishes it. Null: people do'),
      libraryId: z.string().optional().describe('The id of the library as last read'),
    }),
    async handle({db, caller, params: {namespace}, body}) {
      if (caller.staffView && body.managedBy === 'sdk') throw impersonationRefused()
      const {library, changed} = await moveLibrary(db, caller, {namespace, ...body})
      return {library: describeLibrary(library, {source: false}), changed}
    },
  }),
]
