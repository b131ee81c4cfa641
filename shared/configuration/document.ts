import {z} from 'zod'
import {OnEdited} from '../mapping/flows/edits.ts'
import {withJsonSchema} from '../schema/json-schema.ts'
import {oneLine} from '../schema/name.ts'
import {Annotation, ApiName, DefaultMapping, findRepeated, findTwice, type Issue, listOf, mostAnnotations} from './annotation.ts'
import {Settings} from './settings.ts'

export const mostModules = 500
export const highestOrder = 1_000_000
const mostIssues = 100
/** The largest size of a registry as JSON. A registry within this limit can be sent back in one request body. */
export const registryBytes = 1_000_000

const names = listOf(ApiName, {most: 200})

const MatchDefaults = z.strictObject({
  by: listOf(ApiName, {most: 5, least: 1}).describe('API names of the fields that together identify a row’s record'),
  onOne: z
    .enum(['update', 'skip', 'create'])
    .optional()
    .describe('If one record is found: update it (default), skip the row, or create another'),
  onMany: z
    .enum(['ask', 'first', 'skip'])
    .optional()
    .describe('If several are found: hold the row back and ask (default), use the oldest, or skip the row'),
})

export const moduleValues = {
  enabled: z
    .boolean()
    .nullable()
    .describe(
      'True: imports may write this module. False: imports of this module are refused. Null: not decided, so imports may write it. The plan limits how many modules are enabled or were imported into; a disabled one does not count',
    ),
  singular: oneLine(z.string().min(1).max(200)).nullable().describe('The name of one record; null: the CRM’s name'),
  uniqueFields: names.describe('API names of fields with unique values'),
  idempotencyField: ApiName.nullable()
    .optional()
    .describe(
      'A unique text field of at least 26 characters that imports fill in every create, so that a create without an answer is found again. No flow may map it. Null or absent: none',
    ),
  match: MatchDefaults.nullable().describe('How rows find their records, unless the import defines it; null: no default'),
  exclusions: names.describe('API names of fields that imports do not offer'),
  seedMappings: listOf(DefaultMapping.extend({field: ApiName.describe('API name of the field')}), {most: 500}).describe(
    'The mappings of a new import',
  ),
  onEdited: OnEdited.nullish().describe(
    'What imports do with values that a person edited in the CRM: overwrite them, keep them, or hold the row back and ask. Null: the org’s setting',
  ),
}

/**
 * The key of a module. A dot is refused, because the history names a field as `key.field`. A leading underscore is refused, because the key is
 * also an object key.
 */
const Key = z.string().regex(/^[A-Za-z][A-Za-z0-9_-]{0,99}$/, 'A letter, then letters, digits, _ and -, at most 100 in all')

const Module = z.strictObject({
  key: Key.describe('The module’s key in this document'),
  apiName: ApiName.describe('The module’s name in the CRM'),
  connectorId: z.string().min(1).max(100).describe('The connection of the module'),
  ...moduleValues,
  order: z
    .int()
    .min(1)
    .max(highestOrder)
    .describe('The position of the module. The widget adds the flows of an import in this order, the lowest first'),
})
export type RegistryModule = z.output<typeof Module>
export type ModuleValue = keyof typeof moduleValues

const Pause = z.strictObject({
  paused: z.literal(true, 'List only connections with paused writes').describe('Always true'),
})

/**
 * The complete configuration of an org's imports. `writing`: the connections with paused writes. `modules`: the configured modules, in the order
 * in which their records are created. `fields`: the annotations by module key; modules without annotations are absent.
 */
export type Registry = {
  /** The version at the time of reading. Requests ignore the version and send a condition in `If-Match`. */
  version?: number | undefined
  settings: Settings
  writing: Record<string, {paused: true}>
  modules: RegistryModule[]
  fields: Record<string, Annotation[]>
}

/** The shape of the document, for its JSON Schema. `findIssues` validates the document, part by part. */
export const RegistryShape = z.strictObject({
  version: z.int().min(0).optional().describe('The version at the time of reading. Ignored in requests: send a condition in `If-Match`'),
  settings: Settings.describe('The org’s settings'),
  writing: z.record(z.string(), Pause).describe('The connections with paused writes, by id. Others are absent'),
  modules: z.array(Module).max(mostModules).describe('The configured modules, in their order'),
  fields: z
    .record(z.string(), z.array(Annotation).min(1).max(mostAnnotations))
    .describe('The annotations of fields, by module key. A module without annotations is absent'),
})

/** The number of names is limited before any part is checked. */
const byName = z.record(z.string(), z.unknown()).refine(parts => Object.keys(parts).length <= mostModules, `At most ${mostModules} names`)

const Outer = z.strictObject({
  version: z.int().min(0).optional(),
  settings: z.unknown(),
  writing: byName,
  modules: z.array(z.unknown()).max(mostModules),
  fields: byName,
})

/**
 * Returns the issues of a document that should be a registry, each with its path, at most a hundred. Validation proceeds part by part and stops
 * at the limit, so that checking an invalid body does not cost more than checking a valid one.
 */
export const findIssues = (document: unknown): Issue[] => {
  const outer = Outer.safeParse(document)
  if (outer.error) return issuesAt(outer.error, []).slice(0, mostIssues)
  const issues: Issue[] = []
  for (const [schema, value, path] of partsOf(outer.data)) {
    const {error} = schema.safeParse(value)
    if (error) issues.push(...issuesAt(error, path))
    if (issues.length >= mostIssues) return issues.slice(0, mostIssues)
  }
  return issues.length > 0 ? issues : findContradictions(document as Registry).slice(0, mostIssues)
}

/** The validation of `findIssues` as a schema, for bodies that contain a registry. */
export const RegistryDocument = withJsonSchema(z.unknown(), RegistryShape).transform((document, context): Registry => {
  const issues = findIssues(document)
  for (const {path, message} of issues) context.addIssue({code: 'custom', path, message})
  return issues.length === 0 ? (document as Registry) : z.NEVER
})

const AnnotationSet = z.array(z.unknown(), 'A list of annotations').min(1, 'Leave out a module without annotations').max(mostAnnotations)

function* partsOf({settings, writing, modules, fields}: z.output<typeof Outer>): Generator<[z.ZodType, unknown, Issue['path']]> {
  yield [Settings, settings, ['settings']]
  for (const [id, pause] of Object.entries(writing)) yield [Pause, pause, ['writing', id]]
  for (const [at, module] of modules.entries()) yield [Module, module, ['modules', at]]
  for (const [key, set] of Object.entries(fields)) {
    yield [AnnotationSet, set, ['fields', key]]
    if (Array.isArray(set)) for (const [at, one] of set.entries()) yield [Annotation, one, ['fields', key, at]]
  }
}

const issuesAt = ({issues}: z.ZodError, path: Issue['path']): Issue[] =>
  issues.map(issue => ({code: issue.code, path: [...path, ...(issue.path as Issue['path'])], message: issue.message.slice(0, 500)}))

const findContradictions = ({modules, fields}: Registry): Issue[] => {
  const at = (path: Issue['path'], message: string): Issue => ({code: 'custom', path, message})
  const keys = new Set(modules.map(({key}) => key))
  return [
    // Two keys may not differ only in letter case. A configuration repository has one file for each key, and some file systems ignore the case of
    // file names.
    ...findRepeated(modules.map(({key}) => key.toLowerCase())).map(n =>
      at(['modules', n, 'key'], 'Another module has this key, or differs from it only in case'),
    ),
    ...findRepeated(modules.map(({connectorId, apiName}) => JSON.stringify([connectorId, apiName]))).map(n =>
      at(['modules', n, 'apiName'], 'Another entry names this module of the same connection'),
    ),
    ...modules.flatMap(({order}, n) =>
      n > 0 && order <= modules[n - 1]!.order
        ? [at(['modules', n, 'order'], 'Sort the modules by `order`: each must be greater than the one before')]
        : [],
    ),
    ...Object.entries(fields).flatMap(([key, set]) => [
      ...(keys.has(key) ? [] : [at(['fields', key], 'No module has this key')]),
      ...findTwice(set).map(issue => ({...issue, path: ['fields', key, ...issue.path]})),
    ]),
  ]
}
