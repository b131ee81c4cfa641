import {z} from 'zod'
import {withJsonSchema} from '../schema/json-schema.ts'

const MODES = ['column', 'static', 'expression', 'search', 'skip'] as const
export const ROW_STATUSES = [
  'pending',
  'created',
  'updated',
  'exists',
  'skipped',
  'filtered',
  'guarded',
  'dryrun',
  'error',
  'blocked',
] as const

const text = (most: number) => z.string().max(most)
const long = text(10_000).nullish()

/** Returns an array schema that checks the length before the items, so that a long array is cheap to refuse. */
export const listOf = <S extends z.ZodType>(item: S, {most, least = 0}: {most: number; least?: number}) =>
  withJsonSchema(z.array(z.unknown()).min(least).max(most), z.array(item).min(least).max(most)).pipe(z.array(item))

export const ApiName = z.string().min(1).max(200)

export const DefaultMapping = z.strictObject({
  mode: z.enum(MODES).optional().describe('The source of the value, as in a flow’s mapping'),
  source: long.describe('The usual column'),
  staticValue: long.describe('With `static`: the value of every row'),
  transform: long.describe('A JavaScript expression that computes the value; with `column`, the cell is `value`'),
  searchField: long.describe('With `search`: the field of the linked module to search'),
  searchMethod: long.describe('With `search`: `equals`, or `word` for the CRM’s free-text search'),
  searchExpression: long.describe('With `search`: a JavaScript expression that computes the search text'),
  skip: z.boolean().optional().describe('Imports do not write the field'),
  patch: z
    .strictObject({
      when: listOf(z.enum(ROW_STATUSES), {most: ROW_STATUSES.length}).optional().describe('The row statuses whose records are patched'),
      overwrite: z.enum(['always', 'if-absent']).optional().describe('`if-absent`: only if the record has no value in the field'),
    })
    .optional()
    .describe('The field is written after all rows'),
})

export const annotationValues = {
  description: text(10_000).optional().describe('The purpose of the field, in the org’s words'),
  format: text(1000).optional().describe('The format of its values'),
  examples: listOf(text(1000), {most: 100}).optional().describe('Example values; never sent to a model'),
  aliases: listOf(text(1000), {most: 100}).optional().describe('Other names of the field, such as column names'),
  pii: z.boolean().optional().describe('Personal data: its values never leave the server unmasked'),
  derived: z.boolean().optional().describe('The field is derived from other fields. Stored for clients only, without an effect'),
  excluded: z.boolean().optional().describe('Imports do not offer the field, and no mapping is proposed for it'),
  defaultMapping: DefaultMapping.optional().describe('The mapping of a new import'),
}
export type AnnotationValue = keyof typeof annotationValues

/** An org's notes on a field. Values are stored and returned as sent, without defaults. */
export const Annotation = z
  .strictObject({apiName: ApiName.describe('API name of the field'), ...annotationValues})
  .meta({id: 'Annotation', description: 'An org’s notes on a field'})
export type Annotation = z.output<typeof Annotation>

export const mostAnnotations = 1000

export type Issue = {code: string; path: (string | number)[]; message: string}

/** Returns the positions at which a list repeats an earlier name. */
export const findRepeated = (names: readonly string[]): number[] => {
  const first = new Map<string, number>()
  for (const [at, name] of names.entries()) if (!first.has(name)) first.set(name, at)
  return names.flatMap((name, at) => (first.get(name) === at ? [] : [at]))
}

export const findTwice = (set: readonly {apiName: string}[]): Issue[] =>
  findRepeated(set.map(({apiName}) => apiName)).map(at => ({
    code: 'custom',
    path: [at, 'apiName'],
    message: 'This field is already annotated above',
  }))

export const Annotations = listOf(Annotation, {most: mostAnnotations}).superRefine((set, context) => {
  for (const {path, message} of findTwice(set)) context.addIssue({code: 'custom', path, message})
})
