import {z} from 'zod'
import {drawnAs} from '../drawn.ts'
import {Annotation, ApiName, DefaultMapping, findRepeated, findTwice, type Issue, listOf, mostAnnotations} from './annotation.ts'
import {Settings} from './settings.ts'

export const mostModules = 500
/** More is not told: whoever mends a hundred asks again. */
const mostIssues = 100
/** As JSON. What fits is small enough to be sent back in one body. */
export const registryBytes = 1_000_000

const names = listOf(ApiName, {most: 200})

/** How rows find their records, where an import does not say. */
const MatchDefaults = z.strictObject({
  by: listOf(ApiName, {most: 5, least: 1}).describe('API names of the fields that together find a row’s record'),
  onOne: z
    .enum(['update', 'skip', 'create'])
    .optional()
    .describe('One record is found: update it (usual), skip the row, or create another'),
  onMany: z
    .enum(['ask', 'first', 'skip'])
    .optional()
    .describe('Several are found: hold the row back and ask (usual), take the oldest, or skip the row'),
})

export const moduleValues = {
  enabled: z.boolean().describe('Imports may write it. The plan says how many may be enabled at a time'),
  singular: z.string().min(1).max(200).nullable().describe('What one record is called; null: as the CRM calls it'),
  uniqueFields: names.describe('API names of fields whose values no two records share'),
  match: MatchDefaults.nullable().describe('How rows find their records where an import does not say; null: nothing is said'),
  exclusions: names.describe('API names of fields that imports do not offer'),
  seedMappings: listOf(DefaultMapping.extend({field: ApiName.describe('API name of the field')}), {most: 500}).describe(
    'Mappings a new import begins with',
  ),
}

/** Without a dot, since the history names a field as `key.field`; without a leading underscore, since it is a key of objects. */
const Key = z.string().regex(/^[A-Za-z][A-Za-z0-9_-]{0,99}$/, 'A letter, then letters, digits, _ and -, at most 100 in all')

const Module = z.strictObject({
  key: Key.describe('What the module is called in this document, whatever the CRM calls it'),
  apiName: ApiName.describe('What the CRM calls it'),
  connectorId: z.string().min(1).max(100).describe('The connection it is a module of'),
  ...moduleValues,
  order: z.int().min(1).max(1_000_000).describe('Its place among the others: records are made in this order, the lowest first'),
})
export type RegistryModule = z.output<typeof Module>
export type ModuleValue = keyof typeof moduleValues

const Pause = z.strictObject({
  paused: z.literal(true, 'Only connections on which writing is paused are named').describe('Always true'),
})

/**
 * Everything people say about an org's imports. `writing`: the connections on which writing is paused. `modules`: those somebody said
 * something about, as their records are made. `fields`: the annotations of a module, by its key; a module without any is not named.
 */
export type Registry = {
  /** The version it had when it was read: a condition goes into If-Match. */
  version?: number | undefined
  settings: Settings
  writing: Record<string, {paused: true}>
  modules: RegistryModule[]
  fields: Record<string, Annotation[]>
}

/** The document as it is drawn; it is looked at part by part (`findIssues`). */
export const RegistryShape = z.strictObject({
  version: z
    .int()
    .min(0)
    .optional()
    .describe('The version it had when it was read; nothing is done with it: a condition goes into `If-Match`'),
  settings: Settings.describe('The org’s settings'),
  writing: z.record(z.string(), Pause).describe('By id: the connections on which writing is paused. The others are not named'),
  modules: z.array(Module).max(mostModules).describe('Modules somebody said something about, in their order'),
  fields: z
    .record(z.string(), z.array(Annotation).min(1).max(mostAnnotations))
    .describe('By a module’s key: what is said about its fields. A module without annotations is not named'),
})

/** Counted before it is looked into, as lists are. */
const byName = z.record(z.string(), z.unknown()).refine(parts => Object.keys(parts).length <= mostModules, `At most ${mostModules} names`)

const Outer = z.strictObject({
  version: z.int().min(0).optional(),
  settings: z.unknown(),
  writing: byName,
  modules: z.array(z.unknown()).max(mostModules),
  fields: byName,
})

/**
 * The issues of what claims to be a registry, each at its place, the first hundred of them; none: it is one. It looks at one part after
 * the other and stops when it has enough, so that a body of nothing but mistakes costs no more than a good one.
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

/** The same as a schema, for bodies that hold one. */
export const RegistryDocument = drawnAs(z.unknown(), RegistryShape).transform((document, context): Registry => {
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

/** What no part shows by itself. */
const findContradictions = ({modules, fields}: Registry): Issue[] => {
  const at = (path: Issue['path'], message: string): Issue => ({code: 'custom', path, message})
  const keys = new Set(modules.map(({key}) => key))
  return [
    ...findRepeated(modules.map(({key}) => key)).map(n => at(['modules', n, 'key'], 'Another module has this key')),
    ...findRepeated(modules.map(({connectorId, apiName}) => JSON.stringify([connectorId, apiName]))).map(n =>
      at(['modules', n, 'apiName'], 'Another module is this one of the same connection'),
    ),
    ...modules.flatMap(({order}, n) =>
      n > 0 && order <= modules[n - 1]!.order ? [at(['modules', n, 'order'], 'Modules stand in their order: each has a greater one')] : [],
    ),
    ...Object.entries(fields).flatMap(([key, set]) => [
      ...(keys.has(key) ? [] : [at(['fields', key], 'No module has this key')]),
      ...findTwice(set).map(issue => ({...issue, path: ['fields', key, ...issue.path]})),
    ]),
  ]
}
