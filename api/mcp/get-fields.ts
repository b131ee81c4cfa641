import {z} from 'zod'
import {describeFields} from '../../shared/configuration/fields.ts'
import {chooseModule, findModules} from '../../shared/configuration/name.ts'
import {loadRegistry} from '../../shared/configuration/store.ts'
import {isFillable} from '../../shared/mapping/flows/value-issues.ts'
import {readAtOnce} from '../../sql/registry.ts'
import {firstOf, tool} from './tool.ts'

const most = 500
const mostOptions = 50
const mostAliases = 20

const Field = z.object({
  field: z.string(),
  label: z.string(),
  type: z.string(),
  length: z.number().nullable(),
  required: z.boolean(),
  unique: z.boolean(),
  writable: z.boolean().describe('Whether a column can fill it'),
  lookup: z.string().nullable().describe('The module it refers to'),
  subform: z.string().nullable().describe('The module of its rows, which a flow of this module writes'),
  options: z.array(z.string()),
  moreOptions: z.boolean(),
  description: z.string().nullable(),
  format: z.string().nullable(),
  aliases: z.array(z.string()),
  personal: z.boolean().describe('Holds personal data'),
  excluded: z.boolean().describe('Hidden from imports'),
})

export const getFields = tool({
  name: 'get_fields',
  title: 'Get fields',
  description:
    'Describes the fields of one CRM module: type, length, options, whether required or unique, and the annotations of the organisation.',
  input: z.strictObject({
    module: z.string().min(1).max(200).describe('The module, as named by list_modules'),
    connector: z.string().max(100).optional().describe('Required if several connections have the module'),
  }),
  output: z.object({module: z.string(), connector: z.string(), fields: z.array(Field), truncated: z.boolean()}),
  run: ({db, caller: {org}}, {module: name, connector}) =>
    readAtOnce(db, async tx => {
      const registry = await loadRegistry(tx, org)
      const known = chooseModule(await findModules(tx, org, registry), {name, connector})
      const {some, more} = firstOf(await describeFields(tx, registry, known, {all: false}), most)
      const fields = some.flatMap(field => ('type' in field ? [describe(field)] : []))
      return {module: known.curated?.key ?? known.apiName, connector: known.connectorId, fields, truncated: more}
    }),
})

type DescribedField = Extract<Awaited<ReturnType<typeof describeFields>>[number], {type: string}>

/** Describes a field. Omits the options of a personal field, because they may contain personal data. */
const describe = (field: DescribedField): z.input<typeof Field> => {
  const {apiName, label, type, length, required, unique} = field
  const options = firstOf(field.annotation?.pii === true ? [] : field.picklist.map(({display}) => display), mostOptions)
  return {
    field: apiName,
    label,
    type,
    length,
    required,
    unique: unique !== null,
    writable: isFillable(field),
    lookup: field.lookup?.module ?? null,
    subform: field.subform?.module ?? null,
    options: options.some,
    moreOptions: options.more,
    description: field.annotation?.description ?? null,
    format: field.annotation?.format ?? null,
    aliases: firstOf(field.annotation?.aliases ?? [], mostAliases).some,
    personal: field.annotation?.pii ?? false,
    excluded: field.excluded,
  }
}
