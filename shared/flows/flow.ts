import {z} from 'zod'
import {LIMITS} from '../expressions/limits.ts'
import {Parent} from './parent.ts'
import {Patch} from './patch.ts'
import {Subform} from './subform.ts'

/** One JavaScript expression; `expressions/README.md` says what it may do. */
const Expression = z.string().min(1).max(LIMITS.sourceChars)

/** Picklist values by the words a file uses for them. */
const Words = z.record(z.string().max(300), z.string().max(300)).refine(words => Object.keys(words).length <= 2_000, 'At most 2,000 words')

const Mapping = z.strictObject({
  field: z.string().min(1),
  /**
   * `column`: the cell of `source`, or what `transform` makes of it as `value`. `expression`: what `transform` gives. `search`: the record
   * of the field's own module whose `searchField` equals the cell, or what `searchExpression` makes of it.
   */
  mode: z.enum(['column', 'static', 'expression', 'search', 'skip']),
  source: z.string().nullish(),
  staticValue: z.string().nullish(),
  transform: Expression.nullish(),
  /** Of the module searched; its naming field where none is said. Of users their `email`, or `full_name`. */
  searchField: z.string().nullish(),
  /** `word` asks the CRM's free-text search, which lags behind writes and finds more; only where it is asked for. */
  searchMethod: z.enum(['equals', 'word']).nullish(),
  searchExpression: Expression.nullish(),
  /** No record is found: leave the link empty (usual), fail the row, or skip it. */
  onNone: z.enum(['leave', 'fail', 'skip']).nullish(),
  /** Several are found: leave the link empty, take the oldest, hold the row back and ask (usual; of users nobody is asked), or skip it. */
  onMany: z.enum(['leave', 'first', 'ask', 'skip']).nullish(),
  /** What an empty cell means: leave the field alone, or clear it. The cell `\N` always clears. */
  empty: z.enum(['leave', 'clear']).default('leave'),
  /** What becomes of a word the picklist does not have: the row fails, the CRM is given it as it is, or `map` says what it stands for. */
  picklist: z.enum(['reject', 'pass', 'map']).nullish(),
  map: Words.nullish(),
  /** How the column writes dates, where that is not ISO 8601: `dd/MM/yyyy`, `d MMM yy HH:mm`. */
  format: z.string().max(60).nullish(),
  /** Whose clock a time without an offset is by: `Europe/Berlin`. */
  zone: z.string().max(100).nullish(),
  patch: Patch.nullish(),
})
export type Mapping = z.output<typeof Mapping>

const Match = z.strictObject({
  by: z.array(z.string().min(1)).min(1).max(5),
  onOne: z.enum(['update', 'skip', 'create']).default('update'),
  onMany: z.enum(['ask', 'first', 'skip']).default('ask'),
})
export type Match = z.output<typeof Match>

/** Writes one module from one source. */
export const Flow = z.strictObject({
  id: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'Letters, digits, _ and -, at most 64'),
  sourceId: z.string(),
  module: z.string(),
  /** A row for which this is not true is no row of the flow: the run says nothing of it but how many there were. */
  filter: Expression.nullish(),
  /** A row for which this is not true is skipped, and the log says so. */
  guard: Expression.nullish(),
  match: Match.optional(),
  fields: z.array(Mapping).min(1).max(500),
  parent: Parent.optional(),
  subform: Subform.optional(),
})
export type Flow = z.output<typeof Flow>

/** Every expression of a flow. */
export const expressionsOf = ({filter, guard, fields}: Flow): string[] =>
  [
    filter,
    guard,
    ...fields.flatMap(({mode, transform, searchExpression}) => {
      if (mode === 'search') return [searchExpression]
      return mode === 'column' || mode === 'expression' ? [transform] : []
    }),
  ].filter(source => source != null)

export const Flows = z.array(Flow).min(1).max(50)

export {findIssues, type Issue} from './issues.ts'
