import {z} from 'zod'
import {ApiName, listOf} from '../../shared/registry/annotation.ts'
import {moduleValues, mostModules} from '../../shared/registry/document.ts'
import {describeModule, orderModules, patchModule} from '../../shared/registry/modules.ts'
import {assertOwn, findModules} from '../../shared/registry/name.ts'
import {loadRegistry} from '../../shared/registry/store.ts'
import {findRegistryVersion, readAtOnce} from '../../sql/registry.ts'
import {answerWrite, conditionOf, proposed} from '../if-match.ts'
import {route} from '../route.ts'

const query = z.object({connector: z.string().optional(), proposedBy: proposed})

export default [
  route({
    method: 'get',
    path: '/orgs/:org/config/modules',
    access: {role: 'operator'},
    query: z.object({connector: z.string().optional()}),
    handle: ({db, caller: {org}, query: {connector}}) =>
      readAtOnce(db, async tx => {
        const registryVersion = await findRegistryVersion(tx, org)
        const {modules, connections} = await findModules(tx, org, await loadRegistry(tx, org))
        if (connector !== undefined) assertOwn(connections, connector)
        const asked = modules.filter(({connectorId}) => connector === undefined || connectorId === connector)
        return {modules: asked.map(describeModule), registryVersion}
      }),
  }),

  route({
    method: 'put',
    path: '/orgs/:org/config/modules/order',
    access: {role: 'admin'},
    query,
    body: z.strictObject({modules: listOf(ApiName, {most: mostModules, least: 1})}),
    async handle({db, caller, query, body: {modules}, request}) {
      const {registry, told} = await orderModules(db, caller, {condition: conditionOf(request), ...query, modules})
      return answerWrite({modules: registry.modules.map(({key, order}) => ({key, order}))}, told)
    },
  }),

  route({
    method: 'patch',
    path: '/orgs/:org/config/modules/:module',
    access: {role: 'admin'},
    params: z.object({org: z.string(), module: z.string()}),
    query,
    body: z.strictObject(moduleValues).partial(),
    async handle({db, caller, params: {module}, query, body, request}) {
      const {known, told} = await patchModule(db, caller, {condition: conditionOf(request), ...query, module}, body)
      return answerWrite({module: describeModule(known)}, told)
    },
  }),
]
