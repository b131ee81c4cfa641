import {z} from 'zod'
import {Annotation, ApiName} from '../../shared/registry/annotation.ts'
import {Answer, Count, Moment, registryVersion} from './common.ts'
import {DiscoveredField} from './discovery.ts'
import {ConfiguredModule} from './modules.ts'

const annotation = Annotation.nullable().describe('What the org says about it; null: nothing')

/** As `config/resolved` has it. */
export const AnnotatedField = DiscoveredField.extend({annotation}).meta({
  id: 'AnnotatedField',
  description: 'A field as the newest discovery has it, with what the org says of it',
})

const PresentField = DiscoveredField.extend({annotation, removed: z.literal(false).describe('The newest discovery has it')})
const RemovedField = DiscoveredField.extend({
  annotation,
  removed: z.literal(true).describe('The newest discovery has it no more'),
  removedAt: Moment('When a discovery first missed it'),
})
const UnseenField = Answer({
  apiName: ApiName.describe('API name of the field'),
  annotation: Annotation.describe('What the org says about it'),
  removed: z.literal(true).describe('No discovery has it'),
  removedAt: z.null().describe('No discovery ever had it'),
})

export const FieldList = Answer({
  module: ConfiguredModule,
  fields: z
    .array(z.union([PresentField, RemovedField, UnseenField]))
    .describe('In the order of the CRM; with `all=1` then those that are there no more, and those only an annotation knows'),
  registryVersion: z.int().nonnegative().describe("The version of the org's configuration that says so"),
})

export const ChangedAnnotation = Answer({
  annotation: Annotation.nullable().describe(
    'What is said about the field now; null: nothing, with its last value the annotation went too',
  ),
  registryVersion,
})

export const ReplacedAnnotations = Answer({
  ok: z.literal(true).describe('Always true'),
  added: Count('Fields that were not annotated before'),
  changed: Count('Fields that were annotated otherwise'),
  removed: Count('Fields that are annotated no more'),
  registryVersion,
})

export const fieldExample = {
  ...{apiName: 'Email', label: 'E-mail', type: 'email', jsonType: 'string', length: 100, decimalPlaces: null, required: false},
  ...{layoutRequired: false, unique: {caseSensitive: false}, creatable: true, updatable: true, readOnly: false, visible: true},
  ...{picklist: [], lookup: null, subform: null, annotation: {apiName: 'Email', pii: true}, removed: false},
}
