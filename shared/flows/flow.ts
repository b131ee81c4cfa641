import {z} from 'zod'
import {LIMITS} from '../expressions/limits.ts'
import {Parent} from './parent.ts'
import {Patch} from './patch.ts'
import {Subform} from './subform.ts'

/** One JavaScript expression; `expressions/README.md` says what it may do. */
const Expression = z.string().min(1).max(LIMITS.sourceChars)

/** Picklist values by the words a file uses for them. */
const Words = z.record(z.string().max(300), z.string().max(300)).refine(words => Object.keys(words).length <= 2_000, 'At most 2,000 words')

const Mapping = z
  .strictObject({
    field: z.string().min(1).describe('API name of the field that is written'),
    mode: z
      .enum(['column', 'static', 'expression', 'search', 'skip'])
      .describe(
        'Where the value comes from. `column`: the cell of `source`, or what `transform` makes of it as `value`. `static`: `staticValue`. `expression`: what `transform` gives. `search`: the record of the field’s own module whose `searchField` equals the cell, or what `searchExpression` makes of it. `skip`: nothing is written',
      ),
    source: z.string().nullish().describe('The column that is read, by its name in the file'),
    staticValue: z.string().nullish().describe('With `static`: the value every row gets'),
    transform: Expression.nullish().describe('A JavaScript expression that gives the value; with `column` it sees the cell as `value`'),
    searchField: z
      .string()
      .nullish()
      .describe(
        'With `search`: a field of the module that is searched; its naming field where none is said. Of users `email` or `full_name`',
      ),
    searchMethod: z
      .enum(['equals', 'word'])
      .nullish()
      .describe('`word` asks the CRM’s free-text search, which lags behind writes and finds more; null is `equals`'),
    searchExpression: Expression.nullish().describe('With `search`: a JavaScript expression that gives what is searched for'),
    onNone: z
      .enum(['leave', 'fail', 'skip'])
      .nullish()
      .describe('No record is found: leave the link empty (null means that), fail the row, or skip it'),
    onMany: z
      .enum(['leave', 'first', 'ask', 'skip'])
      .nullish()
      .describe(
        'Several are found: leave the link empty, take the oldest, hold the row back and ask (null means that; of users nobody is asked), or skip it',
      ),
    empty: z
      .enum(['leave', 'clear'])
      .default('leave')
      .describe('What an empty cell means: leave the field alone, or clear it. The cell `\\N` always clears'),
    picklist: z
      .enum(['reject', 'pass', 'map'])
      .nullish()
      .describe(
        'What becomes of a word the picklist does not have: the row fails, the CRM is given it as it is, or `map` says what it stands for',
      ),
    map: Words.nullish().describe('With `picklist: map`: picklist values by the words the file uses for them, at most 2,000'),
    format: z
      .string()
      .max(60)
      .nullish()
      .describe('How the column writes dates, where that is not ISO 8601: `dd/MM/yyyy` or `DD/MM/YYYY`, `d MMM yy HH:mm`'),
    zone: z.string().max(100).nullish().describe('Whose clock a time without an offset is by: `Europe/Berlin`'),
    patch: Patch.nullish().describe('The field is written after all rows of all flows; null writes it with the row'),
  })
  .meta({id: 'Mapping', description: 'What one field is written from'})
export type Mapping = z.output<typeof Mapping>

const Match = z.strictObject({
  by: z.array(z.string().min(1)).min(1).max(5).describe('API names of the fields that together find a row’s record'),
  onOne: z.enum(['update', 'skip', 'create']).default('update').describe('One record is found: update it, skip the row, or create another'),
  onMany: z
    .enum(['ask', 'first', 'skip'])
    .default('ask')
    .describe('Several are found: hold the row back and ask, take the oldest, or skip the row'),
})

/** Writes one module from one source. */
export const Flow = z
  .strictObject({
    id: z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,64}$/, 'Letters, digits, _ and -, at most 64')
      .describe('The flow’s name among the others'),
    sourceId: z.string().describe('The file it reads; in a template the slot of one of its sources'),
    module: z.string().describe('API name of the module it writes; of a subform the subform’s own'),
    filter: Expression.nullish().describe(
      'A JavaScript expression. A row for which it is not true is no row of the flow: the run tells nothing of it but how many there were',
    ),
    guard: Expression.nullish().describe('A JavaScript expression. A row for which it is not true is skipped, and the log says so'),
    match: Match.optional().describe('How rows find the records that are there; without it every row creates one'),
    fields: z.array(Mapping).min(1).max(500).describe('What is written into which field'),
    parent: Parent.optional().describe('Rows are linked to the records of another flow’s rows'),
    subform: Subform.optional().describe('Rows are rows of a subform of another flow’s records'),
  })
  .meta({id: 'Flow', description: 'Writes one module from one file'})
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

export const Flows = z.array(Flow).min(1).max(50).describe('In the order their records are made')

export {findIssues, type Issue} from './issues.ts'
