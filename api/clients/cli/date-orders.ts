import {listAmbiguousDates} from '../ambiguous-dates.ts'
import type {Json} from '../http.ts'
import {usage} from './failure.ts'
import {clean} from './phrases.ts'
import {askChoice, canAsk} from './questions.ts'
import type {Cli, Session} from './session.ts'

export const DATE_ORDERS = ['dmy', 'mdy', 'ymd'] as const
export type DateOrder = (typeof DATE_ORDERS)[number]

type DecideDatesInput = {importId: string; source: Json; flow: Json; fields: readonly Json[]; dates?: DateOrder}

/**
 * Decides the order of ambiguous dates in the columns that fill date fields, by --dates or by asking. Throws if neither is possible. Other
 * columns stay as they are.
 */
export const decideDates = async (cli: Cli, session: Session, input: DecideDatesInput) => {
  const {importId, source, dates} = input
  const open = listOpen(input)
  if (open.length === 0) return
  if (dates === undefined && !canAsk(cli))
    throw usage(
      `The dates of ${open.map(({name}) => clean(name)).join(', ')} can be read in several orders${sayExamples(open[0], 1)}`,
      'Add --dates dmy for day, month, year, or --dates mdy',
    )
  const choices: Record<string, {dateOrder: DateOrder}> = {}
  for (const column of open) choices[column.name] = {dateOrder: dates ?? (await askOrder(cli, column))}
  await session.client.patch(session.path(`imports/${importId}/sources/${source.id}`), {choices})
}

/** Returns the columns with ambiguous dates that fill a date field. */
export const listOpen = ({source, flow, fields}: Pick<DecideDatesInput, 'source' | 'flow' | 'fields'>): Json[] => {
  const types = new Map(fields.map(({apiName, type}) => [apiName, type]))
  const dated = new Set(
    flow.fields.flatMap(({field, source: column}: Json) => (['date', 'datetime'].includes(types.get(field)) ? [column] : [])),
  )
  const asked = new Set(
    source.problems.flatMap(({kind, column, fix}: Json) => (kind === 'ambiguous' && fix.includes('dateOrder') ? [column] : [])),
  )
  return source.columns.filter(({name}: Json) => dated.has(name) && asked.has(name))
}

/** Does not offer year, month, day, because dates with the year first are read in every column. */
const askOrder = (cli: Cli, column: Json): Promise<DateOrder> =>
  askChoice(cli, `How are the dates of ${clean(column.name)} written${sayExamples(column, 3)}?`, [
    {value: 'dmy', label: 'Day, month, year'},
    {value: 'mdy', label: 'Month, day, year'},
  ])

const sayExamples = ({samples}: Json, most: number) => {
  const examples = listAmbiguousDates(samples).slice(0, most)
  return examples.length > 0 ? `, such as ${clean(examples.join(', '))}` : ''
}
