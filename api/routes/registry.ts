import {z} from 'zod'
import {applyBundle, Bundle} from '../../shared/registry/bundle.ts'
import {findIssues, RegistryDocument} from '../../shared/registry/document.ts'
import {replaceRegistry} from '../../shared/registry/replace.ts'
import {readRegistry, resolve} from '../../shared/registry/resolved.ts'
import {hasVersion, tagOf} from '../../shared/registry/version.ts'
import {findRegistryVersion} from '../../sql/registry.ts'
import {answerWrite, conditionOf, proposed} from '../if-match.ts'
import {reply} from '../reply.ts'
import {route} from '../route.ts'

/** A client may keep it, and asks each time whether it is still good. */
const keeping = (version: number) => ({etag: tagOf(version), 'cache-control': 'private, no-cache'})

export default [
  route({
    method: 'get',
    path: '/orgs/:org/config/resolved',
    access: {role: 'operator'},
    async handle({db, caller: {org}, request}) {
      const version = await findRegistryVersion(db, org)
      if (hasVersion(request.headers['if-none-match'], version)) return reply({status: 304, headers: keeping(version)})
      const resolved = await resolve(db, org)
      return reply({json: resolved, headers: keeping(resolved.registryVersion)})
    },
  }),

  route({
    method: 'get',
    path: '/orgs/:org/config/registry',
    access: {role: 'operator'},
    async handle({db, caller: {org}}) {
      const registry = await readRegistry(db, org)
      return reply({json: registry, headers: {etag: tagOf(registry.version)}})
    },
  }),

  route({
    method: 'put',
    path: '/orgs/:org/config/registry',
    access: {role: 'admin'},
    query: z.object({proposedBy: proposed}),
    body: RegistryDocument,
    async handle({db, caller, query, body, request}) {
      const {told} = await replaceRegistry(db, caller, {condition: conditionOf(request), ...query}, body)
      return answerWrite({ok: true}, told)
    },
  }),

  route({
    method: 'post',
    path: '/orgs/:org/config/bundle',
    access: {role: 'admin'},
    query: z.object({proposedBy: proposed}),
    body: Bundle,
    // A registry alone may be a mebibyte, and each library a quarter.
    mostBytes: 8 * 1024 ** 2,
    async handle({db, caller, query, body, request}) {
      const {warnings, told} = await applyBundle(db, caller, {condition: conditionOf(request), ...query}, body)
      return answerWrite({ok: true, warnings}, told)
    },
  }),

  route({
    method: 'post',
    path: '/config/validate/registry',
    access: {public: true},
    effect: 'read',
    body: z.unknown(),
    handle({body}) {
      const issues = findIssues(body)
      return {valid: issues.length === 0, issues}
    },
  }),
]
