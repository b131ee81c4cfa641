import {z} from 'zod'
import {ApiName} from '../../shared/configuration/annotation.ts'
import {moduleValues} from '../../shared/configuration/document.ts'
import {DiscoveredModule} from '../../sql/discoveries.ts'
import {Answer, Id} from './common.ts'
import {AssignmentRule, LayoutName} from './discovery.ts'

export const ConfiguredModule = Answer({
  key: z.string().nullable().describe('Key in the configuration. Null: not configured yet'),
  apiName: ApiName.describe('API name in the CRM'),
  connectorId: Id('con', 'The connection'),
  order: z.int().positive().nullable().describe('Position in the order of the modules. Null: not configured yet'),
  ...moduleValues,
  label: z.string().nullable().describe('Label in the CRM, in the plural. Null: no longer part of the latest discovery'),
  crmSingular: z.string().nullable().describe('Label in the CRM, in the singular. Null if `label` is null'),
  kind: DiscoveredModule.shape.kind
    .nullable()
    .describe(
      '`default`: built into the CRM. `custom`: added by the CRM org. `subform`: holds the rows of a subform. Null if `label` is null',
    ),
  creatable: z.boolean().describe("Whether the connection's user may create records"),
  editable: z.boolean().describe("Whether the connection's user may change records"),
  visible: z.boolean().describe("Whether the connection's user can see it"),
  layouts: z.array(LayoutName).describe('The active layouts'),
  assignmentRules: z.array(AssignmentRule).describe('The rules that choose the owner of a new record'),
  hasWriteOptions: z.boolean().describe('Whether the destination has automations, layouts, assignment rules and tags'),
  removed: z.boolean().describe('Whether it is no longer part of the latest discovery'),
}).meta({id: 'ConfiguredModule', description: 'A module of a connection, with its configuration'})

export const moduleExample = {
  key: 'leads',
  order: 1,
  apiName: 'Leads',
  connectorId: 'con_01k9m0v6f8e2r4t7w3y5z1a2b3',
  enabled: true,
  singular: null,
  uniqueFields: ['Email'],
  match: {by: ['Email'], onOne: 'update'},
  exclusions: ['Lead_Image'],
  seedMappings: [],
  onEdited: 'keep',
  label: 'Leads',
  crmSingular: 'Lead',
  kind: 'default',
  creatable: true,
  editable: true,
  visible: true,
  removed: false,
  layouts: [{id: '4400001000000000091', name: 'Standard'}],
  assignmentRules: [],
  hasWriteOptions: true,
}
