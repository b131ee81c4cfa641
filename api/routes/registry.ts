import {z} from 'zod'
import {applyBundle, Bundle} from '../../shared/configuration/bundle.ts'
import {findIssues, RegistryDocument, RegistryShape} from '../../shared/configuration/document.ts'
import {replaceRegistry} from '../../shared/configuration/replace.ts'
import {readRegistry, resolve} from '../../shared/configuration/resolved.ts'
import {hasTag, tagOf, tagOfRevision} from '../../shared/configuration/version.ts'
import {findRevision} from '../../sql/registry.ts'
import {Answer, ByName, Nothing, registryVersion} from '../answers/common.ts'
import {AnnotatedField} from '../answers/discovery.ts'
import {Library, libraryExample, publishedExample} from '../answers/libraries.ts'
import {answerEdit, ofCondition, ofEdit, proposed} from '../config-edit.ts'
import {conditionOf} from '../if-match.ts'
import {ofLoading} from '../refusal-lists.ts'
import {reply} from '../reply.ts'
import {route} from '../route.ts'

/** The registry as the API returns it. If a client sends it back, `version` is ignored. */
const Registry = RegistryShape.extend({
  version: z.int().nonnegative().describe('The version. Send it as `If-Match` with an edit'),
}).meta({id: 'Registry', description: 'The configuration of an org, without libraries and templates'})

const Resolved = Answer({
  registryVersion: z.int().nonnegative().describe('The version of this snapshot. Send it as `If-Match` with an edit, not the `ETag`'),
  registry: Registry,
  fields: ByName(
    ByName(z.array(AnnotatedField), 'By API name of the module: its fields, in the order of the CRM'),
    'By id of the connection: the fields of its modules in the latest discovery',
  ),
  libraries: z.array(Library).describe('The helper libraries, by namespace, without their sources'),
}).meta({id: 'ResolvedConfiguration', description: 'A consistent snapshot of all a client needs to prepare an import'})

const Pushed = Answer({
  ok: z.literal(true).describe('Always true'),
  warnings: z.array(z.string()).describe('What was skipped or is no longer in the CRM, one sentence each. Empty: nothing'),
  skippedLibraries: z.array(z.string()).describe('Namespaces of libraries that were skipped because people manage them'),
  registryVersion,
})

const Validation = Answer({
  valid: z.boolean().describe('Whether it is a valid registry'),
  issues: z
    .array(
      Answer({
        code: z.string().meta({description: 'The kind of issue', examples: ['invalid_type']}),
        path: z.array(z.union([z.string(), z.int()])).meta({description: 'Position in the document', examples: [['modules', 0, 'key']]}),
        message: z.string().describe('What is wrong, in words'),
      }),
    )
    .describe('The first 100 issues. Empty if valid'),
})

const registryExample = {
  version: 7,
  settings: {dateFormat: 'dd.MM.yyyy', timezone: 'Europe/Berlin', expressionContext: {}, aiSamplePolicy: 'masked'},
  writing: {},
  modules: [
    {
      key: 'leads',
      apiName: 'Leads',
      connectorId: 'con_01k9m0v6f8e2r4t7w3y5z1a2b3',
      order: 1,
      enabled: true,
      singular: null,
      uniqueFields: ['Email'],
      match: {by: ['Email']},
      exclusions: [],
      seedMappings: [],
    },
  ],
  fields: {leads: [{apiName: 'Email', aliases: ['E-mail address'], pii: true}]},
}

/** Returns headers that let clients cache the response, but make them revalidate it each time. */
const cacheHeaders = (etag: string) => ({etag, 'cache-control': 'private, no-cache'})

export default [
  route({
    method: 'get',
    path: '/orgs/:org/config/resolved',
    operationId: 'readConfiguration',
    tag: 'Configuration',
    access: {role: 'operator'},
    summary: 'Read the resolved configuration',
    description:
      "A consistent snapshot of the registry, the fields and annotations of every connection's modules, and the libraries. The `ETag` is the version, or `version.n` after a change of library management, which creates no version. With that tag in `If-None-Match`, the response is 304.",
    answers: {200: Resolved, 304: Nothing('The configuration has not changed')},
    refusals: [],
    example: {answer: {registryVersion: 7, registry: registryExample, fields: {}, libraries: [libraryExample]}},
    async handle({db, caller: {org}, request}) {
      const current = tagOfRevision(await findRevision(db, org))
      if (hasTag(request.headers['if-none-match'], current)) return reply({status: 304, headers: cacheHeaders(current)})
      const {resolved, tag} = await resolve(db, org)
      return reply({json: resolved, headers: cacheHeaders(tag)})
    },
  }),

  route({
    method: 'get',
    path: '/orgs/:org/config/registry',
    operationId: 'readRegistry',
    tag: 'Configuration',
    access: {role: 'operator'},
    summary: 'Read the registry',
    description: 'Settings, write pauses, modules and annotations, without libraries and templates. The `ETag` is the version.',
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
    operationId: 'replaceRegistry',
    tag: 'Configuration',
    access: {role: 'admin'},
    summary: 'Replace the registry',
    description: `Replaces the whole document; omitted parts are removed. Modules and fields need not exist in the CRM, except a new \`idempotencyField\`. ${ofCondition}`,
    answers: {200: Answer({ok: z.literal(true).describe('Always true'), registryVersion})},
    refusals: [...ofEdit, 'LIMIT_MODULES', 'FIELD_NOT_UNIQUE', 'FIELD_MAPPED', 'IMPERSONATION_REFUSED'],
    example: {body: registryExample, answer: {ok: true, registryVersion: 8}},
    query: z.object({proposedBy: proposed}),
    body: RegistryDocument,
    async handle({db, caller, query, body, request}) {
      const {versionReply} = await replaceRegistry(db, caller, {condition: conditionOf(request), ...query}, body)
      return answerEdit({ok: true}, versionReply)
    },
  }),

  route({
    method: 'post',
    path: '/orgs/:org/config/bundle',
    operationId: 'pushBundle',
    tag: 'Configuration',
    access: {role: 'admin'},
    mayRefuseAfterChange: true,
    summary: 'Push a configuration repository',
    description: `The registry, then the libraries, then the templates. Everything is checked before anything is written: unknown modules and fields, libraries that do not load or fail their examples, templates that do not fit. A library managed by people is skipped with a warning. ${ofCondition} The condition covers the registry only.`,
    answers: {200: Pushed},
    refusals: [
      ...ofEdit,
      ...ofLoading,
      ...(['LIMIT_MODULES', 'UNKNOWN_FIELDS', 'FIELD_NOT_UNIQUE', 'FIELD_MAPPED', 'TEMPLATE_INVALID'] as const),
      ...(['FEATURE_HELPER_LIBRARIES', 'LIBRARY_MANAGED', 'IMPERSONATION_REFUSED'] as const),
    ],
    example: {body: {registry: registryExample, libraries: [publishedExample]}, answer: {ok: true, warnings: [], skippedLibraries: []}},
    query: z.object({proposedBy: proposed}),
    body: Bundle,
    // A bundle contains a registry of up to 1 MiB, and libraries of up to 256 KiB each.
    mostBytes: 8 * 1024 ** 2,
    async handle({db, caller, query, body, request}) {
      const {versionReply, ...answer} = await applyBundle(db, caller, {condition: conditionOf(request), ...query}, body)
      return answerEdit({ok: true, ...answer}, versionReply)
    },
  }),

  route({
    method: 'post',
    path: '/config/validate/registry',
    operationId: 'validateRegistry',
    tag: 'Configuration',
    access: {public: true},
    summary: 'Validate a registry',
    description: 'Checks only the document, not any org. Stores nothing.',
    answers: {200: Validation},
    refusals: [],
    example: {
      body: {settings: {}, writing: {}, modules: [], fields: {leads: []}},
      answer: {valid: false, issues: [{code: 'too_small', path: ['fields', 'leads'], message: 'Leave out a module without annotations'}]},
    },
    effect: 'read',
    body: z.unknown().describe('The registry to check'),
    handle({body}) {
      const issues = findIssues(body)
      return {valid: issues.length === 0, issues}
    },
  }),
]
