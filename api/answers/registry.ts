import {z} from 'zod'
import {RegistryShape} from '../../shared/registry/document.ts'
import {Answer, ByName, registryVersion} from './common.ts'
import {AnnotatedField} from './fields.ts'
import {Library} from './libraries.ts'

/** As it is read; sent back, its version is looked at by nobody. */
export const Registry = RegistryShape.extend({
  version: z.int().nonnegative().describe('The version this is. Send it as `If-Match` with a change'),
}).meta({id: 'Registry', description: 'Everything people say about the imports of an org, but its libraries and templates'})

export const Resolved = Answer({
  registryVersion: z.int().nonnegative().describe('The version of everything beside it, and the `ETag`'),
  registry: Registry,
  fields: ByName(
    ByName(z.array(AnnotatedField), 'By API name of the module: its fields, in the order of the CRM'),
    'By id of the connection: the fields of its modules as the newest discovery has them',
  ),
  libraries: z.array(Library).describe('The helper libraries, by namespace, without their sources'),
}).meta({id: 'ResolvedConfiguration', description: 'All a client needs to prepare an import, of one moment'})

export const Replaced = Answer({ok: z.literal(true).describe('Always true'), registryVersion})

export const Pushed = Answer({
  ok: z.literal(true).describe('Always true'),
  warnings: z.array(z.string()).describe('What was left alone or is in the CRM no more, one sentence each; empty: nothing'),
  skippedLibraries: z.array(z.string()).describe('Libraries that were not published because people publish them, by namespace'),
  registryVersion,
})

export const Validation = Answer({
  valid: z.boolean().describe('Whether it is a registry'),
  issues: z
    .array(
      Answer({
        code: z.string().meta({description: 'What kind of mistake', examples: ['invalid_type']}),
        path: z.array(z.union([z.string(), z.int()])).meta({description: 'Where in the document', examples: [['modules', 0, 'key']]}),
        message: z.string().describe('What is wrong, for a person'),
      }),
    )
    .describe('The first hundred mistakes; empty where it is valid'),
})

export const registryExample = {
  version: 7,
  settings: {dateFormat: 'dd.MM.yyyy', timezone: 'Europe/Berlin', expressionContext: {}, aiSamplePolicy: 'masked'},
  writing: {},
  modules: [
    {
      ...{key: 'leads', apiName: 'Leads', connectorId: 'con_01k9m0v6f8e2r4t7w3y5z1a2b3', order: 1},
      ...{enabled: true, singular: null, uniqueFields: ['Email'], match: {by: ['Email']}, exclusions: [], seedMappings: []},
    },
  ],
  fields: {leads: [{apiName: 'Email', aliases: ['E-mail address'], pii: true}]},
}
