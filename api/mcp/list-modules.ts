import {z} from 'zod'
import {describeModule} from '../../shared/configuration/modules.ts'
import {assertOwn, findModules} from '../../shared/configuration/name.ts'
import {loadRegistry} from '../../shared/configuration/store.ts'
import {readAtOnce} from '../../sql/registry.ts'
import {firstOf, tool} from './tool.ts'

const most = 500

const Module = z.object({
  module: z.string().describe('The name for the other tools'),
  apiName: z.string(),
  label: z.string().nullable(),
  connector: z.string(),
  enabled: z.boolean().nullable().describe('False: imports of the module are refused. Null: not decided'),
  creatable: z.boolean(),
  editable: z.boolean(),
  removed: z.boolean().describe('No longer in the CRM'),
  uniqueFields: z.array(z.string()),
})

export const listModules = tool({
  name: 'list_modules',
  title: 'List modules',
  description: 'Lists the CRM modules of the organisation that imports can write to, and the connections they belong to.',
  input: z.strictObject({connector: z.string().max(100).optional().describe('Only modules of this connection')}),
  output: z.object({
    connections: z.array(z.object({id: z.string(), name: z.string(), state: z.string()})),
    modules: z.array(Module),
    truncated: z.boolean(),
  }),
  run: ({db, caller: {org}}, {connector}) =>
    readAtOnce(db, async tx => {
      const {modules, connections} = await findModules(tx, org, await loadRegistry(tx, org))
      if (connector !== undefined) assertOwn(connections, connector)
      const asked = modules.filter(({connectorId}) => connector === undefined || connectorId === connector)
      const {some, more} = firstOf(asked.map(describeModule), most)
      return {
        connections: connections.map(({id, name, state}) => ({id, name, state})),
        modules: some.map(({key, apiName, label, connectorId, enabled, creatable, editable, removed, uniqueFields}) => ({
          module: key ?? apiName,
          apiName,
          label,
          connector: connectorId,
          enabled,
          creatable,
          editable,
          removed,
          uniqueFields: [...(uniqueFields ?? [])],
        })),
        truncated: more,
      }
    }),
})
