import {z} from 'zod'
import {Settings} from '../../shared/registry/settings.ts'
import {describeSettings, patchSettings, pauseWriting} from '../../shared/registry/settings-edit.ts'
import {findRegistryVersion, readAtOnce} from '../../sql/registry.ts'
import {answerWrite, conditionOf, proposed} from '../if-match.ts'
import {route} from '../route.ts'

export default [
  route({
    method: 'get',
    path: '/orgs/:org/config/settings',
    access: {role: 'operator'},
    handle: ({db, caller: {org}}) =>
      readAtOnce(db, async tx => {
        const registryVersion = await findRegistryVersion(tx, org)
        return {settings: await describeSettings(tx, org), registryVersion}
      }),
  }),

  route({
    method: 'patch',
    path: '/orgs/:org/config/settings',
    access: {role: 'admin'},
    query: z.object({proposedBy: proposed}),
    body: Settings.extend({followsCrmRoles: z.boolean()}).partial(),
    async handle({db, caller, query, body, request}) {
      const {settings, told} = await patchSettings(db, caller, {condition: conditionOf(request), ...query}, body)
      return answerWrite({settings}, told)
    },
  }),

  route({
    method: 'patch',
    path: '/orgs/:org/config/writing',
    access: {role: 'admin'},
    query: z.object({connector: z.string().optional(), proposedBy: proposed}),
    body: z.strictObject({paused: z.boolean().optional()}),
    async handle({db, caller, query, body, request}) {
      const {registry, told} = await pauseWriting(db, caller, {condition: conditionOf(request), ...query}, body)
      return answerWrite({writing: registry.writing}, told)
    },
  }),
]
