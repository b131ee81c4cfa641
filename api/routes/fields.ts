import {z} from 'zod'
import {Annotation, Annotations, ApiName, annotationValues} from '../../shared/configuration/annotation.ts'
import {describeFields, patchAnnotation, replaceAnnotations} from '../../shared/configuration/fields.ts'
import {describeModule} from '../../shared/configuration/modules.ts'
import {chooseModule, findModules} from '../../shared/configuration/name.ts'
import {loadRegistry} from '../../shared/configuration/store.ts'
import {clearable} from '../../shared/schema/json-schema.ts'
import {findRegistryVersion, readAtOnce} from '../../sql/registry.ts'
import {Answer, Count, Moment, registryVersion} from '../answers/common.ts'
import {AnnotatedField} from '../answers/discovery.ts'
import {ConfiguredModule, moduleExample} from '../answers/modules.ts'
import {answerEdit, ofCondition, ofEdit, proposed} from '../config-edit.ts'
import {conditionOf} from '../if-match.ts'
import {connector, moduleName, OfOrg, ofNaming} from '../params.ts'
import {route} from '../route.ts'

const excluded = z.boolean().describe('Whether the settings exclude the field from imports: the module’s `exclusions`, or its annotation')
const PresentField = AnnotatedField.extend({excluded, removed: z.literal(false).describe('Part of the latest discovery')})

const RemovedField = AnnotatedField.extend({
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

const FieldList = Answer({
  module: ConfiguredModule,
  fields: z
    .array(z.union([PresentField, RemovedField, UnseenField]))
    .describe('In the order of the CRM. With `all=1`, followed by deleted fields and fields known only from an annotation'),
  registryVersion: z.int().nonnegative().describe("The version of the org's configuration"),
})

const ChangedAnnotation = Answer({
  annotation: Annotation.nullable().describe('The annotation now. Null: the field has none'),
  registryVersion,
})

const ReplacedAnnotations = Answer({
  ok: z.literal(true).describe('Always true'),
  added: Count('Newly annotated fields'),
  changed: Count('Fields whose annotation changed'),
  removed: Count('Fields whose annotation was removed'),
  registryVersion,
})

const fieldExample = {
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

const params = OfOrg.extend({module: moduleName})
const query = z.object({connector, proposedBy: proposed})

const Patch = z.strictObject({
  description: clearable(annotationValues.description),
  format: clearable(annotationValues.format),
  examples: clearable(annotationValues.examples),
  aliases: clearable(annotationValues.aliases),
  pii: clearable(annotationValues.pii),
  derived: clearable(annotationValues.derived),
  excluded: clearable(annotationValues.excluded),
  defaultMapping: clearable(annotationValues.defaultMapping),
})

export default [
  route({
    method: 'get',
    path: '/orgs/:org/config/fields/:module',
    operationId: 'listFields',
    tag: 'Configuration',
    access: {role: 'operator'},
    summary: 'List the fields of a module',
    answers: {200: FieldList},
    refusals: [...ofNaming],
    example: {
      params: {org: 'org_01k9m0v6f8e2r4t7w3y5z1a2b3', module: 'Leads'},
      answer: {module: moduleExample, fields: [fieldExample], registryVersion: 7},
    },
    params,
    query: z.object({
      connector,
      all: z.enum(['0', '1']).default('0').describe('`1`: include deleted fields, and fields known only from an annotation'),
    }),
    handle: ({db, caller: {org}, params: {module: name}, query: {connector, all}}) =>
      readAtOnce(db, async tx => {
        const registryVersion = await findRegistryVersion(tx, org)
        const registry = await loadRegistry(tx, org)
        const known = chooseModule(await findModules(tx, org, registry), {name, connector})
        const fields = await describeFields(tx, registry, known, {all: all === '1'})
        return {module: describeModule(known), fields, registryVersion}
      }),
  }),

  route({
    method: 'patch',
    path: '/orgs/:org/config/fields/:module/:apiName',
    operationId: 'changeField',
    tag: 'Configuration',
    access: {role: 'admin'},
    summary: 'Change the annotation of a field',
    description: `Omitted values stay; null removes a value. Removing the last value removes the annotation. ${ofCondition}`,
    answers: {200: ChangedAnnotation},
    refusals: [...ofEdit, ...ofNaming],
    example: {
      params: {org: 'org_01k9m0v6f8e2r4t7w3y5z1a2b3', module: 'Leads', apiName: 'Email'},
      body: {description: 'Where we write to', pii: true, examples: null},
      answer: {annotation: {apiName: 'Email', description: 'Where we write to', pii: true}},
    },
    params: params.extend({apiName: ApiName.describe('API name of the field')}),
    query,
    body: Patch,
    async handle({db, caller, params: {module, apiName}, query, body, request}) {
      const asked = {condition: conditionOf(request), ...query, module, apiName}
      const {annotation, versionReply} = await patchAnnotation(db, caller, asked, body)
      return answerEdit({annotation}, versionReply)
    },
  }),

  route({
    method: 'put',
    path: '/orgs/:org/config/fields/:module/annotations',
    operationId: 'replaceAnnotations',
    tag: 'Configuration',
    access: {role: 'admin'},
    summary: 'Replace the annotations of all fields of a module',
    description: `Replaces the whole set. Fields that are omitted lose their annotation. ${ofCondition}`,
    answers: {200: ReplacedAnnotations},
    refusals: [...ofEdit, ...ofNaming],
    example: {
      params: {org: 'org_01k9m0v6f8e2r4t7w3y5z1a2b3', module: 'Leads'},
      body: [{apiName: 'Email', aliases: ['E-mail address'], pii: true}],
      answer: {ok: true, added: 1, changed: 0, removed: 0},
    },
    params,
    query,
    body: Annotations,
    async handle({db, caller, params: {module}, query, body, request}) {
      const {counts, versionReply} = await replaceAnnotations(db, caller, {condition: conditionOf(request), ...query, module}, body)
      return answerEdit({ok: true, ...counts}, versionReply)
    },
  }),
]
