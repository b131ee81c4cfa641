import {z} from 'zod'
import type {Config} from '../config.ts'
import type {DiscoveredField, DiscoveredModule} from './discovered.ts'

const TYPES = [
  ...['text', 'textarea', 'email', 'phone', 'website', 'integer', 'bigint', 'double', 'boolean', 'date', 'datetime'],
  ...['picklist', 'multiselectpicklist'],
] as const
const CHOICES = ['picklist', 'multiselectpicklist']

/** `id` is what every record is called by here, `ids` what reads by id are asked with. */
const reserved = ['id', 'ids']
const Name = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_]{0,99}$/, 'Letters, digits and _, at most 100')
  .refine(name => !reserved.includes(name), `${reserved.join(' and ')} are taken`)
const Label = z.string().trim().min(1).max(200)

const Field = z.strictObject({
  apiName: Name.describe('The key it stands under in a record'),
  label: Label.describe('What people call it'),
  type: z.enum(TYPES).describe('What it holds'),
  length: z.int().min(1).max(1_000_000).optional().describe('The most characters it takes'),
  required: z.boolean().default(false).describe('Whether every create needs it'),
  unique: z.boolean().default(false).describe('Whether no two records share a value'),
  readOnly: z.boolean().default(false).describe('Whether the destination alone sets it'),
  picklist: z.array(z.string().min(1).max(200)).min(1).max(1_000).optional().describe('The options of a choice'),
})

const Module = z.strictObject({
  apiName: Name.describe('Its name in this API'),
  label: Label.describe('What people call it'),
  path: z
    .string()
    .max(500)
    .regex(/^(\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$/, 'A path such as /v1/contacts, without . or ..')
    .describe('Where its records are, below `baseUrl`'),
  /** The key a record's id stands under. It is no field: the destination gives it. */
  idField: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9_]{0,99}$/, 'Letters, digits and _, at most 100')
    .describe("The key a record's id stands under; no field of its own"),
  displayField: Name.optional().describe('The field a record is called by'),
  fields: z.array(Field).min(1).max(500).describe('Its fields'),
})

/** Headers that are the transport's own. */
const TAKEN = /^(host|connection|keep-alive|content-.*|transfer-encoding|te|trailer|upgrade|expect|cookie|proxy-.*)$/i

/** A plain REST destination. `renewal`: when the allowance of a day is there again, where the destination has such a moment. */
export const Document = z
  .strictObject({
    baseUrl: z
      .url()
      .max(1_000)
      .refine(isPlain, 'An address without name, password, query or fragment')
      .describe('Where it is. The operator has listed its origin'),
    modules: z.array(Module).min(1).max(200).describe('What it has records of'),
    auth: z
      .strictObject({
        header: z
          .string()
          .regex(/^[A-Za-z][A-Za-z0-9-]{0,63}$/)
          .refine(header => !TAKEN.test(header), 'This header is not yours to set')
          .describe('The header the secret is sent in'),
        scheme: z
          .string()
          .regex(/^[A-Za-z][A-Za-z0-9._~-]{0,39}$/)
          .optional()
          .describe('What stands before the secret, such as `Bearer`'),
      })
      .optional()
      .describe('How it lets us in; left out: it asks for nothing'),
    renewal: z
      .string()
      .regex(/^daily at ([01]\d|2[0-3]):[0-5]\d UTC$/, 'As in "daily at 05:00 UTC"')
      .optional()
      .describe('When the allowance of a day is there again'),
  })
  .superRefine(({modules}, ctx) => {
    for (const at of repeated(modules))
      ctx.addIssue({code: 'custom', path: ['modules', at, 'apiName'], message: 'Another module has this name'})
    for (const [at, module] of modules.entries()) {
      for (const {path, message} of issuesOf(module)) ctx.addIssue({code: 'custom', path: ['modules', at, ...path], message})
    }
  })
export type Document = z.output<typeof Document>
export type DocumentModule = Document['modules'][number]

/** As it may be written in a header. */
export const Secret = z
  .string()
  .regex(/^[\x21-\x7e](?:[\x20-\x7e]{0,4094}[\x21-\x7e])?$/, 'ASCII without line breaks, at most 4096 characters')

/** `daily at 05:00 UTC` as `05:00`; null for a destination that names no moment. */
export const dailyAt = ({renewal}: Pick<Document, 'renewal'>): string | null => renewal?.split(' ')[2] ?? null

/** Calls go to origins the operator has listed and nowhere else. */
export const isAllowed = ({GENERIC_ORIGINS}: Pick<Config, 'GENERIC_ORIGINS'>, {baseUrl}: Pick<Document, 'baseUrl'>) =>
  GENERIC_ORIGINS.includes(new URL(baseUrl).origin)

/** What a discovery reads of it. */
export const modulesOf = ({modules}: Document): DiscoveredModule[] =>
  modules.map(({apiName, label, displayField, fields}) => ({
    ...{apiName, label, singular: label, id: apiName, kind: 'custom', creatable: true, editable: true, visible: true},
    ...{subformOf: null, namingField: displayField ?? null, fields: fields.map(describeField)},
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
  ...{apiName, label, type, jsonType: null, length: length ?? null, decimalPlaces: null, required, layoutRequired: required},
  ...{unique: unique ? {caseSensitive: false} : null, creatable: !readOnly, updatable: !readOnly, readOnly, visible: true},
  ...{picklist: (picklist ?? []).map(option => ({display: option, actual: option})), lookup: null, subform: null},
})

const issuesOf = ({idField, displayField, fields}: DocumentModule) => {
  const names = fields.map(({apiName}) => apiName)
  return [
    ...repeated(fields).map(at => ({path: ['fields', at, 'apiName'], message: 'Another field has this name'})),
    ...fields.flatMap(({type, picklist}, at) =>
      CHOICES.includes(type) === (picklist !== undefined)
        ? []
        : [{path: ['fields', at, 'picklist'], message: `For ${CHOICES.join(' and ')}, and for those alone`}],
    ),
    ...(names.includes(idField) ? [{path: ['idField'], message: 'The destination gives it: it cannot be a field'}] : []),
    ...(displayField === undefined || names.includes(displayField) ? [] : [{path: ['displayField'], message: 'No field has this name'}]),
  ]
}

const repeated = (named: {apiName: string}[]) =>
  named.flatMap(({apiName}, at) => (named.findIndex(one => one.apiName === apiName) < at ? [at] : []))

/** Asked of what is no address too: one check that failed keeps no other from running. */
function isPlain(text: string) {
  if (!URL.canParse(text)) return false
  const {username, password, search, hash, protocol} = new URL(text)
  return username + password + search + hash === '' && /^https?:$/.test(protocol)
}
