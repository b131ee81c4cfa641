import {z} from 'zod'
import {ApiName, listOf} from '../../shared/configuration/annotation.ts'
import {moduleValues, mostModules} from '../../shared/configuration/document.ts'
import {describeModule, orderModules, patchModule} from '../../shared/configuration/modules.ts'
import {assertOwn, findModules} from '../../shared/configuration/name.ts'
import {loadRegistry} from '../../shared/configuration/store.ts'
import {findRegistryVersion, readAtOnce} from '../../sql/registry.ts'
import {Answer, registryVersion} from '../answers/common.ts'
import {ConfiguredModule, moduleExample} from '../answers/modules.ts'
import {answerEdit, ofCondition, ofEdit, proposed} from '../config-edit.ts'
import {conditionOf} from '../if-match.ts'
import {connector, moduleName, OfOrg, ofNaming} from '../params.ts'
import {route} from '../route.ts'

const ModuleList = Answer({
  modules: z.array(ConfiguredModule).describe('Configured modules first, in their order, then the others'),
  registryVersion: z.int().nonnegative().describe("The version of the org's configuration"),
})

const ModuleOrder = Answer({
  modules: z
    .array(
      Answer({
        key: z.string().describe('Key in the configuration'),
        order: z.int().positive().describe('Position in the order'),
      }),
    )
    .describe('All configured modules, in this order'),
  registryVersion,
})

const query = z.object({connector, proposedBy: proposed})

export default [
  route({
    method: 'get',
    path: '/orgs/:org/config/modules',
    operationId: 'listModules',
    tag: 'Configuration',
    access: {role: 'operator'},
    summary: 'List the modules of the connections',
    description: 'Configured modules, and all modules of the latest discovery of each connection.',
    answers: {200: ModuleList},
    refusals: ['CONNECTION_NOT_FOUND'],
    example: {answer: {modules: [moduleExample], registryVersion: 7}},
    query: z.object({connector}),
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
    operationId: 'setModuleOrder',
    tag: 'Configuration',
    access: {role: 'admin'},
    summary: 'Set the order of the modules',
    description: `The modules sent come first, in the order sent; the others follow in their previous order. The widget adds flows to an import in this order. Flows sent through the API keep theirs. ${ofCondition}`,
    answers: {200: ModuleOrder},
    refusals: [...ofEdit, ...ofNaming],
    example: {
      body: {modules: ['accounts', 'leads']},
      answer: {
        modules: [
          {key: 'accounts', order: 1},
          {key: 'leads', order: 2},
        ],
      },
    },
    query,
    body: z.strictObject({
      modules: listOf(ApiName, {most: mostModules, least: 1}).describe('Keys or API names of modules, in the new order'),
    }),
    async handle({db, caller, query, body: {modules}, request}) {
      const {registry, versionReply} = await orderModules(db, caller, {condition: conditionOf(request), ...query, modules})
      return answerEdit({modules: registry.modules.map(({key, order}) => ({key, order}))}, versionReply)
    },
  }),

  route({
    method: 'patch',
    path: '/orgs/:org/config/modules/:module',
    operationId: 'changeModule',
    tag: 'Configuration',
    access: {role: 'admin'},
    summary: 'Change the settings of a module',
    description: `Omitted values stay. Field names must exist in the module or have existed there. \`idempotencyField\` must fit: unique text of at least 26 characters, creatable, and mapped by no import or template. ${ofCondition}`,
    answers: {200: Answer({module: ConfiguredModule, registryVersion})},
    refusals: [...ofEdit, ...ofNaming, 'LIMIT_MODULES', 'FIELD_NOT_UNIQUE', 'FIELD_MAPPED'],
    example: {
      params: {org: 'org_01k9m0v6f8e2r4t7w3y5z1a2b3', module: 'leads'},
      body: {enabled: true, match: {by: ['Email'], onOne: 'update'}},
      answer: {module: moduleExample},
    },
    params: OfOrg.extend({module: moduleName}),
    query,
    body: z.strictObject(moduleValues).partial(),
    async handle({db, caller, params: {module}, query, body, request}) {
      const {known, versionReply} = await patchModule(db, caller, {condition: conditionOf(request), ...query, module}, body)
      return answerEdit({module: describeModule(known)}, versionReply)
    },
  }),
]
