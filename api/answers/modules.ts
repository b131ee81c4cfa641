import {z} from 'zod'
import {ApiName} from '../../shared/registry/annotation.ts'
import {moduleValues} from '../../shared/registry/document.ts'
import {Answer, Id, registryVersion} from './common.ts'

/** A module as somebody curated it and as the newest discovery has it. */
export const ConfiguredModule = Answer({
  key: z.string().nullable().describe('What the configuration calls it; null: nobody said anything about it yet'),
  apiName: ApiName.describe('What the CRM calls it'),
  connectorId: Id('con', 'The connection it is a module of'),
  order: z
    .int()
    .positive()
    .nullable()
    .describe('Its place among the others: records are made in this order; null as long as nobody curated it'),
  ...moduleValues,
  label: z.string().nullable().describe('What people call it at the CRM, in the plural; null: the newest discovery has it no more'),
  crmSingular: z.string().nullable().describe('What the CRM calls one of it; null as `label` is'),
  kind: z
    .enum(['default', 'custom', 'subform'])
    .nullable()
    .describe('Whether it came with the CRM, was made, or holds the rows of a subform; null as `label` is'),
  creatable: z.boolean().describe("Whether the connection's user may create records"),
  editable: z.boolean().describe("Whether the connection's user may change records"),
  visible: z.boolean().describe("Whether the connection's user sees it"),
  removed: z.boolean().describe('Whether the newest discovery has it no more'),
}).meta({id: 'ConfiguredModule', description: 'A module of a connection, with what the org says of it'})

export const ModuleList = Answer({
  modules: z.array(ConfiguredModule).describe('Curated ones first, in their order, then the others'),
  registryVersion: z.int().nonnegative().describe("The version of the org's configuration that says so"),
})

export const ChangedModule = Answer({module: ConfiguredModule, registryVersion})

export const ModuleOrder = Answer({
  modules: z
    .array(
      Answer({
        key: z.string().describe('What the configuration calls it'),
        order: z.int().positive().describe('Its place among the others'),
      }),
    )
    .describe('All curated modules, in the order in which records are made'),
  registryVersion,
})

export const moduleExample = {
  ...{key: 'leads', order: 1, apiName: 'Leads', connectorId: 'con_01k9m0v6f8e2r4t7w3y5z1a2b3', enabled: true, singular: null},
  ...{uniqueFields: ['Email'], match: {by: ['Email'], onOne: 'update'}, exclusions: ['Lead_Image'], seedMappings: []},
  ...{label: 'Leads', crmSingular: 'Lead', kind: 'default', creatable: true, editable: true, visible: true, removed: false},
}
