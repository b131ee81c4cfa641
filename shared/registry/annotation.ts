import {z} from 'zod'
import {drawnAs} from '../drawn.ts'

const MODES = ['column', 'static', 'expression', 'search', 'skip'] as const
/** What may have become of a row. */
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

/** An array that is counted before it is looked into, so that a long one costs nothing. */
export const listOf = <S extends z.ZodType>(item: S, {most, least = 0}: {most: number; least?: number}) =>
  drawnAs(z.array(z.unknown()).min(least).max(most), z.array(item).min(least).max(most)).pipe(z.array(item))

/** An API name as a CRM may have it. */
export const ApiName = z.string().min(1).max(200)

export const DefaultMapping = z.strictObject({
  mode: z.enum(MODES).optional().describe('Where the value comes from, as in a flow’s mapping'),
  source: long.describe('The column it usually is in'),
  staticValue: long.describe('With `static`: the value every row gets'),
  transform: long.describe('A JavaScript expression that gives the value; with `column` it sees the cell as `value`'),
  searchField: long.describe('With `search`: the field of the linked module that is searched'),
  searchMethod: long.describe('With `search`: `equals`, or `word` for the CRM’s free-text search'),
  searchExpression: long.describe('With `search`: a JavaScript expression that gives what is searched for'),
  skip: z.boolean().optional().describe('The field is left alone'),
  patch: z
    .strictObject({
      when: listOf(z.enum(ROW_STATUSES), {most: ROW_STATUSES.length}).optional().describe('Statuses of a row whose record is patched'),
      overwrite: z.enum(['always', 'if-absent']).optional().describe('`if-absent`: only where the record has no value in the field'),
    })
    .optional()
    .describe('The field is written after all rows'),
})

export const annotationValues = {
  description: text(10_000).optional().describe('What the field is for, in the org’s words'),
  format: text(1000).optional().describe('How its values are written'),
  examples: listOf(text(1000), {most: 100}).optional().describe('Values it may have; never sent to a model'),
  aliases: listOf(text(1000), {most: 100}).optional().describe('What else it is called, such as the names of columns'),
  pii: z.boolean().optional().describe('Personal data: its values never leave the server as they are'),
  derived: z
    .boolean()
    .optional()
    .describe('It is made from other fields, as people say. It is kept for clients, and nothing is done by it'),
  excluded: z.boolean().optional().describe('Imports do not offer it, and nothing is proposed for it'),
  defaultMapping: DefaultMapping.optional().describe('What a new import begins with'),
}
export type AnnotationValue = keyof typeof annotationValues

/** What an org says about a field. Nothing is filled in: it is kept and answered as it was given. */
export const Annotation = z
  .strictObject({apiName: ApiName.describe('API name of the field it is about'), ...annotationValues})
  .meta({id: 'Annotation', description: 'What an org says about a field'})
export type Annotation = z.output<typeof Annotation>

export const mostAnnotations = 1000

export type Issue = {code: string; path: (string | number)[]; message: string}

/** Where a list names again what it named before. */
export const findRepeated = (names: readonly string[]): number[] => {
  const first = new Map<string, number>()
  for (const [at, name] of names.entries()) if (!first.has(name)) first.set(name, at)
  return names.flatMap((name, at) => (first.get(name) === at ? [] : [at]))
}

/** No field is annotated twice. */
export const findTwice = (set: readonly {apiName: string}[]): Issue[] =>
  findRepeated(set.map(({apiName}) => apiName)).map(at => ({
    ...{code: 'custom', path: [at, 'apiName'], message: 'This field is annotated above already'},
  }))

/** A module's whole set. */
export const Annotations = listOf(Annotation, {most: mostAnnotations}).superRefine((set, context) => {
  for (const {path, message} of findTwice(set)) context.addIssue({code: 'custom', path, message})
})
