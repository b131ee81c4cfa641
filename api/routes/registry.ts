import {z} from 'zod'
import {applyBundle, Bundle} from '../../shared/registry/bundle.ts'
import {findIssues, RegistryDocument} from '../../shared/registry/document.ts'
import {replaceRegistry} from '../../shared/registry/replace.ts'
import {readRegistry, resolve} from '../../shared/registry/resolved.ts'
import {hasTag, tagOf, tagOfRevision} from '../../shared/registry/version.ts'
import {findRevision} from '../../sql/registry.ts'
import {Nothing} from '../answers/common.ts'
import {libraryExample, ofLoading, publishedExample} from '../answers/libraries.ts'
import {Pushed, Registry, Replaced, Resolved, registryExample, Validation} from '../answers/registry.ts'
import {answerEdit, ofCondition, ofEdit, proposed} from '../config-edit.ts'
import {conditionOf} from '../if-match.ts'
import {reply} from '../reply.ts'
import {route} from '../route.ts'

/** A client may keep it, and asks each time whether it is still good. */
const keeping = (etag: string) => ({etag, 'cache-control': 'private, no-cache'})

export default [
  route({
    method: 'get',
    path: '/orgs/:org/config/resolved',
    access: {role: 'operator'},
    summary: 'Read all an import is prepared with',
    description:
      "The registry, the fields of every connection's modules with what is said of them, and the libraries, of one moment. The `ETag` is the version, or `version.n` once the management of a library changed, which makes no version. With it in `If-None-Match` the answer is 304 without a body.",
    answers: {200: Resolved, 304: Nothing('It still has a tag that `If-None-Match` names')},
    refusals: [],
    example: {answer: {registryVersion: 7, registry: registryExample, fields: {}, libraries: [libraryExample]}},
    async handle({db, caller: {org}, request}) {
      const current = tagOfRevision(await findRevision(db, org))
      if (hasTag(request.headers['if-none-match'], current)) return reply({status: 304, headers: keeping(current)})
      const {resolved, tag} = await resolve(db, org)
      return reply({json: resolved, headers: keeping(tag)})
    },
  }),

  route({
    method: 'get',
    path: '/orgs/:org/config/registry',
    access: {role: 'operator'},
    summary: 'Read the registry',
    description:
      'Settings, write pauses, modules and annotations: the configuration but for libraries and templates. The `ETag` is its version.',
    answers: {200: Registry},
    refusals: [],
    example: {answer: registryExample},
    async handle({db, caller: {org}}) {
      const registry = await readRegistry(db, org)
      return reply({json: registry, headers: {etag: tagOf(registry.version)}})
    },
  }),

  route({
    method: 'put',
    path: '/orgs/:org/config/registry',
    access: {role: 'admin'},
    summary: 'Replace the registry',
    description: `The whole document at once: what is left out is gone. Modules and fields need not be in the CRM yet, or any more. ${ofCondition}`,
    answers: {200: Replaced},
    refusals: [...ofEdit, 'LIMIT_MODULES'],
    example: {body: registryExample, answer: {ok: true, registryVersion: 8}},
    query: z.object({proposedBy: proposed}),
    body: RegistryDocument,
    async handle({db, caller, query, body, request}) {
      const {told} = await replaceRegistry(db, caller, {condition: conditionOf(request), ...query}, body)
      return answerEdit({ok: true}, told)
    },
  }),

  route({
    method: 'post',
    path: '/orgs/:org/config/bundle',
    access: {role: 'admin'},
    summary: 'Push a configuration repository',
    description: `The registry, then the libraries, then the templates. Before anything is written all of it is checked: names of modules and fields nobody has ever seen, libraries that do not load or break an example of theirs, templates that do not fit. A library that people publish is left alone, with a warning. ${ofCondition} Only the registry is held against that.`,
    answers: {200: Pushed},
    refusals: [
      ...ofEdit,
      ...ofLoading,
      ...(['LIMIT_MODULES', 'UNKNOWN_FIELDS', 'TEMPLATE_INVALID', 'FEATURE_HELPER_LIBRARIES', 'LIBRARY_MANAGED'] as const),
    ],
    example: {body: {registry: registryExample, libraries: [publishedExample]}, answer: {ok: true, warnings: [], skippedLibraries: []}},
    query: z.object({proposedBy: proposed}),
    body: Bundle,
    // A registry alone may be a mebibyte, and each library a quarter.
    mostBytes: 8 * 1024 ** 2,
    async handle({db, caller, query, body, request}) {
      const {told, ...answer} = await applyBundle(db, caller, {condition: conditionOf(request), ...query}, body)
      return answerEdit({ok: true, ...answer}, told)
    },
  }),

  route({
    method: 'post',
    path: '/config/validate/registry',
    access: {public: true},
    summary: 'Check a registry without keeping it',
    description: 'Looks at the document alone, not at any org: nothing is read and nothing kept.',
    answers: {200: Validation},
    refusals: [],
    example: {
      body: {settings: {}, writing: {}, modules: [], fields: {leads: []}},
      answer: {valid: false, issues: [{code: 'too_small', path: ['fields', 'leads'], message: 'Leave out a module without annotations'}]},
    },
    effect: 'read',
    body: z.unknown().describe('What claims to be a registry'),
    handle({body}) {
      const issues = findIssues(body)
      return {valid: issues.length === 0, issues}
    },
  }),
]
