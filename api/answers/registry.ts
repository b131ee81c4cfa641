import {z} from 'zod'
import {RegistryShape} from '../../shared/configuration/document.ts'
import {Answer, ByName, registryVersion} from './common.ts'
import {AnnotatedField} from './fields.ts'
import {Library} from './libraries.ts'

/** The registry as the API returns it. If a client sends it back, `version` is ignored. */
export const Registry = RegistryShape.extend({
  version: z.int().nonnegative().describe('The version. Send it as `If-Match` with an edit'),
}).meta({id: 'Registry', description: 'The configuration of an org, without libraries and templates'})

export const Resolved = Answer({
  registryVersion: z.int().nonnegative().describe('The version of this snapshot, also the `ETag`'),
  registry: Registry,
  fields: ByName(
    ByName(z.array(AnnotatedField), 'By API name of the module: its fields, in the order of the CRM'),
    'By id of the connection: the fields of its modules in the latest discovery',
  ),
  libraries: z.array(Library).describe('The helper libraries, by namespace, without their sources'),
}).meta({id: 'ResolvedConfiguration', description: 'A consistent snapshot of all a client needs to prepare an import'})

export const Replaced = Answer({ok: z.literal(true).describe('Always true'), registryVersion})

export const Pushed = Answer({
  ok: z.literal(true).describe('Always true'),
  warnings: z.array(z.string()).describe('What was skipped or is no longer in the CRM, one sentence each. Empty: nothing'),
  skippedLibraries: z.array(z.string()).describe('Namespaces of libraries that were skipped because people manage them'),
  registryVersion,
})

export const Validation = Answer({
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

export const registryExample = {
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
