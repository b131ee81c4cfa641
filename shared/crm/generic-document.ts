import {z} from 'zod'
import type {Config} from '../config.ts'
import type {DiscoveredField, DiscoveredModule} from './discovered.ts'

const TYPES = [
  'text',
  'textarea',
  'email',
  'phone',
  'website',
  'integer',
  'bigint',
  'double',
  'boolean',
  'date',
  'datetime',
  'picklist',
  'multiselectpicklist',
] as const
const CHOICES = ['picklist', 'multiselectpicklist']

/** Names that no module or field may have. `id` is this service's key of every record id, and `ids` is the query parameter of reads by id. */
const reserved = ['id', 'ids']
const Name = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_]{0,99}$/, 'Letters, digits and _, at most 100')
  .refine(name => !reserved.includes(name), `${reserved.join(' and ')} are reserved`)
const Label = z.string().trim().min(1).max(200)

const Field = z.strictObject({
  apiName: Name.describe('The key of the field in a record'),
  label: Label.describe('The name that users see'),
  type: z.enum(TYPES).describe('The type of its values'),
  length: z.int().min(1).max(1_000_000).optional().describe('The most characters of a value'),
  required: z.boolean().default(false).describe('Whether every create must have a value'),
  unique: z.boolean().default(false).describe('Whether no two records share a value'),
  readOnly: z.boolean().default(false).describe('Whether only the destination sets the value'),
  picklist: z.array(z.string().min(1).max(200)).min(1).max(1_000).optional().describe('The options of a picklist'),
})

const Module = z.strictObject({
  apiName: Name.describe('The name of the module in this API'),
  label: Label.describe('The name that users see'),
  path: z
    .string()
    .max(500)
    .regex(/^(\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$/, 'A path such as /v1/contacts, without . or ..')
    .describe('The path of its records, below `baseUrl`'),
  idField: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9_]{0,99}$/, 'Letters, digits and _, at most 100')
    .describe("The key of a record's id. It must not be one of the fields"),
  displayField: Name.optional().describe('The field whose value names a record'),
  fields: z.array(Field).min(1).max(500).describe('The fields of the module'),
})

/** Headers that a document may not name: those of the HTTP transport, of proxies and of cookies. */
const TAKEN = /^(host|connection|keep-alive|content-.*|transfer-encoding|te|trailer|upgrade|expect|cookie|proxy-.*)$/i

export const GenericDocument = z
  .strictObject({
    baseUrl: z
      .url()
      .max(1_000)
      .refine(isPlain, 'Enter a URL without user name, password, query or fragment')
      .describe('The base URL. The operator must have allowed its origin'),
    modules: z.array(Module).min(1).max(200).describe('The modules that have records'),
    auth: z
      .strictObject({
        header: z
          .string()
          .regex(/^[A-Za-z][A-Za-z0-9-]{0,63}$/)
          .refine(header => !TAKEN.test(header), 'This header is reserved. Choose another one')
          .describe('The header that carries the secret'),
        scheme: z
          .string()
          .regex(/^[A-Za-z][A-Za-z0-9._~-]{0,39}$/)
          .optional()
          .describe('The prefix of the secret, such as `Bearer`'),
      })
      .optional()
      .describe('How calls authenticate. Left out: no authentication'),
    renewal: z
      .string()
      .regex(/^daily at ([01]\d|2[0-3]):[0-5]\d UTC$/, 'Use the form "daily at 05:00 UTC"')
      .optional()
      .describe('The time of day at which the quota renews'),
  })
  .superRefine(({modules}, ctx) => {
    for (const at of repeated(modules))
      ctx.addIssue({code: 'custom', path: ['modules', at, 'apiName'], message: 'Another module has this name'})
    for (const [at, module] of modules.entries()) {
      for (const {path, message} of issuesOf(module)) ctx.addIssue({code: 'custom', path: ['modules', at, ...path], message})
    }
  })
export type GenericDocument = z.output<typeof GenericDocument>
export type DocumentModule = GenericDocument['modules'][number]

/** A secret must be a valid header value. */
export const Secret = z
  .string()
  .regex(/^[\x21-\x7e](?:[\x20-\x7e]{0,4094}[\x21-\x7e])?$/, 'ASCII without line breaks, at most 4096 characters')

/** Returns `05:00` for `daily at 05:00 UTC`; null if the destination names no time. */
export const dailyAt = ({renewal}: Pick<GenericDocument, 'renewal'>): string | null => renewal?.split(' ')[2] ?? null

/** Calls go only to the origins that the operator has allowed. */
export const isAllowed = ({GENERIC_ORIGINS}: Pick<Config, 'GENERIC_ORIGINS'>, {baseUrl}: Pick<GenericDocument, 'baseUrl'>) =>
  GENERIC_ORIGINS.includes(new URL(baseUrl).origin)

export const modulesOf = ({modules}: GenericDocument): DiscoveredModule[] =>
  modules.map(({apiName, label, displayField, fields}) => ({
    apiName,
    label,
    singular: label,
    id: apiName,
    kind: 'custom',
    creatable: true,
    editable: true,
    visible: true,
    subformOf: null,
    namingField: displayField ?? null,
    hasWriteOptions: false,
    fields: fields.map(describeField),
  }))

const describeField = ({
  apiName,
  label,
  type,
  length,
  required,
  unique,
  readOnly,
  picklist,
}: DocumentModule['fields'][number]): DiscoveredField => ({
  apiName,
  label,
  type,
  jsonType: null,
  length: length ?? null,
  decimalPlaces: null,
  required,
  layoutRequired: required,
  unique: unique ? {caseSensitive: false} : null,
  creatable: !readOnly,
  updatable: !readOnly,
  readOnly,
  visible: true,
  picklist: (picklist ?? []).map(option => ({display: option, actual: option})),
  lookup: null,
  subform: null,
})

const issuesOf = ({idField, displayField, fields}: DocumentModule) => {
  const names = fields.map(({apiName}) => apiName)
  return [
    ...repeated(fields).map(at => ({path: ['fields', at, 'apiName'], message: 'Another field has this name'})),
    ...fields.flatMap(({type, picklist}, at) =>
      CHOICES.includes(type) === (picklist !== undefined)
        ? []
        : [{path: ['fields', at, 'picklist'], message: `Give options for ${CHOICES.join(' and ')} fields, and for no others`}],
    ),
    ...(names.includes(idField) ? [{path: ['idField'], message: 'The destination assigns the id, so it cannot be a field'}] : []),
    ...(displayField === undefined || names.includes(displayField) ? [] : [{path: ['displayField'], message: 'No field has this name'}]),
  ]
}

const repeated = (named: {apiName: string}[]) =>
  named.flatMap(({apiName}, at) => (named.findIndex(one => one.apiName === apiName) < at ? [at] : []))

/** Zod calls this function even if the text is no URL. */
function isPlain(text: string) {
  if (!URL.canParse(text)) return false
  const {username, password, search, hash, protocol} = new URL(text)
  return username + password + search + hash === '' && /^https?:$/.test(protocol)
}
