import {z} from 'zod'
import {Annotations, ApiName, annotationValues} from '../../shared/registry/annotation.ts'
import {describeFields, patchAnnotation, replaceAnnotations} from '../../shared/registry/fields.ts'
import {describeModule} from '../../shared/registry/modules.ts'
import {chooseModule, findModules} from '../../shared/registry/name.ts'
import {loadRegistry} from '../../shared/registry/store.ts'
import {findRegistryVersion, readAtOnce} from '../../sql/registry.ts'
import {answerWrite, conditionOf, proposed} from '../if-match.ts'
import {route} from '../route.ts'

const params = z.object({org: z.string(), module: z.string()})
const query = z.object({connector: z.string().optional(), proposedBy: proposed})

/** A value of null takes it back. */
const Patch = z.strictObject({
  description: annotationValues.description.nullable(),
  format: annotationValues.format.nullable(),
  examples: annotationValues.examples.nullable(),
  aliases: annotationValues.aliases.nullable(),
  pii: annotationValues.pii.nullable(),
  derived: annotationValues.derived.nullable(),
  excluded: annotationValues.excluded.nullable(),
  defaultMapping: annotationValues.defaultMapping.nullable(),
})

export default [
  route({
    method: 'get',
    path: '/orgs/:org/config/fields/:module',
    access: {role: 'operator'},
    params,
    query: z.object({connector: z.string().optional(), all: z.enum(['0', '1']).default('0')}),
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
    access: {role: 'admin'},
    params: params.extend({apiName: ApiName}),
    query,
    body: Patch,
    async handle({db, caller, params: {module, apiName}, query, body, request}) {
      const asked = {condition: conditionOf(request), ...query, module, apiName}
      const {annotation, told} = await patchAnnotation(db, caller, asked, body)
      return answerWrite({annotation}, told)
    },
  }),

  route({
    method: 'put',
    path: '/orgs/:org/config/fields/:module/annotations',
    access: {role: 'admin'},
    params,
    query,
    body: Annotations,
    async handle({db, caller, params: {module}, query, body, request}) {
      const {counts, told} = await replaceAnnotations(db, caller, {condition: conditionOf(request), ...query, module}, body)
      return answerWrite({ok: true, ...counts}, told)
    },
  }),
]
