import {z} from 'zod'
import type {DiscoveredModule} from '../../crm/discovered.ts'
import {LIMITS} from '../../expressions/limits.ts'
import {deletes} from './delete.ts'
import {OnEdited} from './edits.ts'
import {Parent} from './parent.ts'
import {Patch} from './patch.ts'
import {Subform} from './subform.ts'
import {routeOptions, writeOptions} from './write-options.ts'

/** One JavaScript expression. `expressions/README.md` describes what expressions can use. */
const Expression = z.string().min(1).max(LIMITS.sourceChars)

const Words = z.record(z.string().max(300), z.string().max(300)).refine(words => Object.keys(words).length <= 2_000, 'At most 2,000 words')

const ValueEntry = z.strictObject({
  from: z
    .string()
    .max(300)
    .regex(/\S/, 'A value that is not blank')
    .describe('A value of the file, without regard to letter case and surrounding blanks'),
  to: z.string().max(300).describe('The value to use instead, read as a fixed value of the field. Empty: as a blank cell'),
})

export const Mapping = z
  .strictObject({
    field: z.string().min(1).describe('API name of the field to write'),
    mode: z
      .enum(['column', 'static', 'expression', 'search', 'skip'])
      .describe(
        'Where the value comes from. `column`: the cell of `source`, or the result of `transform` for it. `static`: `staticValue`. `expression`: the result of `transform`. `search`: the record of the linked module whose `searchField` equals the cell, or equals the result of `searchExpression`. `skip`: the field is not written',
      ),
    source: z.string().nullish().describe('Name of the column in the file'),
    staticValue: z.string().nullish().describe('With `static`: the value for every row'),
    transform: Expression.nullish().describe('A JavaScript expression that gives the value; with `column` it sees the cell as `value`'),
    searchField: z
      .string()
      .nullish()
      .describe('With `search`: a field of the module that is searched. Default: its naming field. For users: `email` or `full_name`'),
    searchMethod: z
      .enum(['equals', 'word'])
      .nullish()
      .describe('`word` uses the CRM’s free-text search, which lags behind writes and finds more; null means `equals`'),
    searchExpression: Expression.nullish().describe('With `search`: a JavaScript expression that gives the value to search for'),
    onNone: z
      .enum(['leave', 'fail', 'skip'])
      .nullish()
      .describe(
        'If no record is found: leave the link empty, fail the row, or skip the row. Left out in `PUT …/flows`: `fail` if an earlier flow writes the searched module, otherwise `leave`',
      ),
    onMany: z
      .enum(['leave', 'first', 'ask', 'skip'])
      .nullish()
      .describe(
        'If several records are found: leave the link empty, use the oldest, hold the row back and ask (default, not for users), or skip the row',
      ),
    empty: z
      .enum(['leave', 'clear'])
      .default('leave')
      .describe('What an empty cell means: leave the field alone, or clear it. The cell `\\N` always clears'),
    values: z
      .array(ValueEntry)
      .max(2_000)
      .nullish()
      .describe(
        'The value map: replaces values of the column, or results of `transform`, before they are converted or searched for. Of a field with several values, each is replaced on its own. At most 2,000 entries',
      ),
    otherwise: z
      .enum(['keep', 'empty', 'fail'])
      .nullish()
      .describe(
        'With `values`: what happens to a value without an entry, unless it is an option of the field. `keep` (default): it is used as it is. `empty`: it counts as a blank cell. `fail`: the row fails with `VALUE_UNMAPPED`',
      ),
    picklist: z
      .enum(['reject', 'pass', 'map'])
      .nullish()
      .describe(
        'How to treat a value that the picklist does not have: fail the row, or pass the value to the CRM. `map` is an older form of `values`',
      ),
    map: Words.nullish().describe('With `picklist: map`: picklist values by the words of the file. Use `values` instead'),
    format: z
      .string()
      .max(60)
      .nullish()
      .describe('Date format of the column if it is not ISO 8601: `dd/MM/yyyy` or `DD/MM/YYYY`, `d MMM yy HH:mm`'),
    zone: z.string().max(100).nullish().describe('Time zone of a time without an offset, such as `Europe/Berlin`'),
    onEdited: OnEdited.nullish().describe(
      'A person edited the value in the CRM since it was last written: overwrite it, keep it, or hold the row back and ask. Default: `match.onEdited`',
    ),
    patch: Patch.nullish().describe('Write the field after all rows of all flows; null writes it with the row'),
  })
  .meta({id: 'Mapping', description: 'How one field gets its value'})
export type Mapping = z.output<typeof Mapping>

const Match = z.strictObject({
  by: z.array(z.string().min(1)).min(1).max(5).describe('API names of the fields that together identify a row’s record'),
  onOne: z
    .enum(['update', 'skip', 'create'])
    .default('update')
    .describe('If one record is found: update it, skip the row, or create another'),
  onMany: z
    .enum(['ask', 'first', 'skip'])
    .default('ask')
    .describe('If several records are found: hold the row back and ask, use the oldest, or skip the row'),
  unchanged: z
    .enum(['skip', 'write'])
    .optional()
    .describe(
      'The found record already holds every value: skip the row with the code `UNCHANGED`, or update it all the same. New flows skip, or write if `automations` is true; stored flows without this key write',
    ),
  onEdited: OnEdited.optional().describe(
    'A person edited values of the found record since they were last written: overwrite them, keep them, or hold the row back and ask. Default: the setting of the module, then of the org; without one, schedules keep and other runs overwrite',
  ),
  onUnknown: z
    .enum(['write', 'keep'])
    .optional()
    .describe('What `keep` and `ask` do with values of which it is unknown what was last written: write (default), or keep the CRM’s'),
})

export const Flow = z
  .strictObject({
    id: z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,64}$/, 'Letters, digits, _ and -, at most 64')
      .describe('Id of the flow, unique within the import'),
    sourceId: z.string().describe('Id of the source it reads; in a template, the slot of a source'),
    module: z.string().describe('API name of the module it writes; for a subform, the subform’s own module'),
    action: z
      .literal('delete')
      .optional()
      .describe(
        '`delete`: deletes each record that a row matches, instead of writing it. It maps only its match fields, and `onOne` and `onMany` have no effect: a row that matches no record or several deletes none. Needs the builder role. Left out: creates and updates records',
      ),
    filter: Expression.nullish().describe(
      'A JavaScript expression. Rows for which it is not true are left out of the flow; the run only counts them',
    ),
    guard: Expression.nullish().describe('A JavaScript expression. A row for which it is not true is skipped and logged'),
    match: Match.nullish().describe(
      'How rows find existing records. Null: every row creates a record. Left out in `PUT …/flows`: the module’s default, or null without one',
    ),
    fields: z.array(Mapping).min(1).max(500).describe('The field mappings'),
    parent: Parent.optional().describe('Links rows to the records of another flow’s rows'),
    subform: Subform.optional().describe('Writes rows into a subform of another flow’s records'),
    ...writeOptions,
    ...routeOptions,
  })
  .meta({id: 'Flow', description: 'Writes one module from one file'})
export type Flow = z.output<typeof Flow>

export const expressionsOf = ({filter, guard, fields}: Flow): string[] =>
  [
    filter,
    guard,
    ...fields.flatMap(({mode, transform, searchExpression}) => {
      if (mode === 'search') return [searchExpression]
      return mode === 'column' || mode === 'expression' ? [transform] : []
    }),
  ].filter(source => source != null)

export const Flows = z.array(Flow).min(1).max(50).describe('Flows in the order their records are written')

/**
 * Adds the default options of new flows: unchanged rows are skipped, or written if the flow starts automations. If an earlier flow writes the
 * searched module and a search finds no record, the row fails. Stored flows without these options keep their behaviour.
 */
export const addFlowDefaults = (flows: Flow[], modules: ReadonlyMap<string, DiscoveredModule>): Flow[] =>
  flows.map((flow, at) => {
    if (deletes(flow)) return flow
    const written = new Set(flows.slice(0, at).flatMap(({module, subform}) => (subform ? [] : [module])))
    const fields = modules.get(flow.module)?.fields ?? []
    const isOwn = ({mode, field, onNone}: Mapping) =>
      mode === 'search' && onNone == null && written.has(fields.find(({apiName}) => apiName === field)?.lookup?.module ?? '')
    const unchanged = flow.match?.unchanged ?? (flow.automations ? ('write' as const) : ('skip' as const))
    return {
      ...flow,
      ...(flow.match?.onOne === 'update' && {match: {...flow.match, unchanged}}),
      ...(flow.fields.some(isOwn) && {fields: flow.fields.map(one => (isOwn(one) ? {...one, onNone: 'fail' as const} : one))}),
    }
  })

export {findIssues, type Issue} from './issues.ts'
