import {z} from 'zod'
import {Annotation, ApiName} from '../../shared/configuration/annotation.ts'
import {Answer, Count, Moment, registryVersion} from './common.ts'
import {DiscoveredField} from './discovery.ts'
import {ConfiguredModule} from './modules.ts'

const annotation = Annotation.nullable().describe('The annotation by the org. Null: none')

/** A field as `config/resolved` returns it. */
export const AnnotatedField = DiscoveredField.extend({annotation}).meta({
  id: 'AnnotatedField',
  description: 'A field of the latest discovery, with the annotation by the org',
})

const excluded = z.boolean().describe('Whether the settings exclude the field from imports: the module’s `exclusions`, or its annotation')
const PresentField = DiscoveredField.extend({annotation, excluded, removed: z.literal(false).describe('Part of the latest discovery')})
const RemovedField = DiscoveredField.extend({
  annotation,
  excluded,
  removed: z.literal(true).describe('No longer part of the latest discovery'),
  removedAt: Moment('When a discovery first lacked it'),
})
const UnseenField = Answer({
  apiName: ApiName.describe('API name of the field'),
  annotation: Annotation.describe('The annotation by the org'),
  removed: z.literal(true).describe('Not part of any discovery'),
  removedAt: z.null().describe('Always null'),
})

export const FieldList = Answer({
  module: ConfiguredModule,
  fields: z
    .array(z.union([PresentField, RemovedField, UnseenField]))
    .describe('In the order of the CRM. With `all=1`, followed by deleted fields and fields known only from an annotation'),
  registryVersion: z.int().nonnegative().describe("The version of the org's configuration"),
})

export const ChangedAnnotation = Answer({
  annotation: Annotation.nullable().describe('The annotation now. Null: its last value was removed'),
  registryVersion,
})

export const ReplacedAnnotations = Answer({
  ok: z.literal(true).describe('Always true'),
  added: Count('Newly annotated fields'),
  changed: Count('Fields whose annotation changed'),
  removed: Count('Fields whose annotation was removed'),
  registryVersion,
})

export const fieldExample = {
  apiName: 'Email',
  label: 'E-mail',
  type: 'email',
  jsonType: 'string',
  length: 100,
  decimalPlaces: null,
  required: false,
  layoutRequired: false,
  unique: {caseSensitive: false},
  creatable: true,
  updatable: true,
  readOnly: false,
  visible: true,
  picklist: [],
  lookup: null,
  subform: null,
  annotation: {apiName: 'Email', pii: true},
  excluded: false,
  removed: false,
}
