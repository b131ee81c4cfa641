import {z} from 'zod'

const MODES = ['column', 'static', 'expression', 'search', 'skip'] as const
const WHEN = ['pending', 'created', 'updated', 'exists', 'skipped', 'filtered', 'guarded', 'dryrun', 'error', 'blocked'] as const

const text = (most: number) => z.string().max(most)
const long = text(10_000).nullish()

/** An array that is counted before it is looked into, so that a long one costs nothing. */
export const listOf = <S extends z.ZodType>(item: S, {most, least = 0}: {most: number; least?: number}) =>
  z.array(z.unknown()).min(least).max(most).pipe(z.array(item))

/** An API name as a CRM may have it. */
export const ApiName = z.string().min(1).max(200)

export const DefaultMapping = z.strictObject({
  mode: z.enum(MODES).optional(),
  source: long,
  staticValue: long,
  transform: long,
  searchField: long,
  searchMethod: long,
  searchExpression: long,
  skip: z.boolean().optional(),
  patch: z
    .strictObject({
      when: listOf(z.enum(WHEN), {most: WHEN.length}).optional(),
      overwrite: z.enum(['always', 'if-absent']).optional(),
    })
    .optional(),
})

export const annotationValues = {
  description: text(10_000).optional(),
  format: text(1000).optional(),
  examples: listOf(text(1000), {most: 100}).optional(),
  aliases: listOf(text(1000), {most: 100}).optional(),
  /** Personal data: it never leaves the server as it is. */
  pii: z.boolean().optional(),
  derived: z.boolean().optional(),
  excluded: z.boolean().optional(),
  defaultMapping: DefaultMapping.optional(),
}
export type AnnotationValue = keyof typeof annotationValues

/** What an org says about a field. Nothing is filled in: it is kept and answered as it was given. */
export const Annotation = z.strictObject({apiName: ApiName, ...annotationValues})
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
