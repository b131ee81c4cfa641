import {z} from 'zod'
import type {DateOrder} from './cell-kind.ts'
import type {ColumnEvidence} from './evidence.ts'
import type {Numbers} from './xlsx/cell.ts'
import type {StoredWorkbook} from './xlsx/xlsx-file.ts'

const Choice = z
  .strictObject({
    dateOrder: z.enum(['dmy', 'mdy', 'ymd']).optional().describe('Order of day, month and year in its dates'),
    decimalMark: z.enum(['point', 'comma']).optional().describe('Decimal mark of its numbers'),
    as: z
      .enum(['text', 'number'])
      .optional()
      .describe('`text` keeps leading zeros and digits that a number would lose; `number` accepts the loss'),
    numbers: z
      .enum(['displayed', 'stored'])
      .optional()
      .describe('Only for a workbook. Where the number format displays 25 %, `displayed` reads 25 and `stored` reads 0.25 as in the file'),
  })
  .refine(choice => Object.keys(choice).length > 0, 'Set at least one of dateOrder, decimalMark, as and numbers')
export type Choice = z.infer<typeof Choice>

/**
 * How a column is read: the user's choice, and the date order and decimal mark that the values prove. Without `numbers`, all numbers of the
 * column are read as stored.
 */
export type ColumnReading = Omit<Choice, 'numbers'> & {
  numbers?: Numbers | undefined
  /** The org's date format, if it is not the default and neither a person nor the values decide the order of the dates. */
  dateFormat?: string | undefined
}

export const Choices = z.record(z.string(), Choice).describe('By column: the choices of a user where its values are ambiguous')
export type Choices = z.infer<typeof Choices>

export const ChoiceChanges = z
  .record(z.string(), Choice.nullable())
  .refine(changes => Object.keys(changes).length <= 1000, 'At most 1,000 columns')
  .describe('By column: the new choice; null removes the choice')
export type ChoiceChanges = z.infer<typeof ChoiceChanges>

type Column = Pick<ColumnEvidence, 'name' | 'dates' | 'marks'> & {stored?: StoredWorkbook}

/** A choice takes precedence over what the values prove. Columns without a reading are omitted. */
export const readingsOf = (columns: Column[], choices: Choices): Record<string, ColumnReading> =>
  Object.fromEntries(
    columns.flatMap(column => {
      const choice = choices[column.name]
      const [dateOrder, decimalMark] = [dateOrderOf(column, choice), decimalMarkOf(column, choice)]
      const numbers = isFormatted(column) ? (choice?.numbers ?? 'auto') : undefined
      const reading: ColumnReading = {
        ...choice,
        ...(dateOrder && {dateOrder}),
        ...(decimalMark && {decimalMark}),
        ...(numbers && {numbers}),
      }
      return Object.keys(reading).length ? [[column.name, reading]] : []
    }),
  )

type Dates = Pick<ColumnEvidence, 'dates'>

/**
 * Returns the chosen order of a column's dates, or the only order that the values prove; else null. A date with the year first proves no order for
 * ambiguous dates beside it.
 */
export const dateOrderOf = ({dates}: Dates, choice?: Choice): DateOrder | null => {
  if (choice?.dateOrder) return choice.dateOrder
  const proved = (['dmy', 'mdy', 'ymd'] as const).filter(order => dates[order] > 0)
  return proved.length === 1 && !(dates.ymd && dates.ambiguous) ? proved[0]! : null
}

/**
 * Returns the chosen decimal mark of a column's numbers, or the only mark that the values prove; else null. In a workbook column without text
 * cells and decimal commas, ambiguous numbers have a point, because a workbook stores numbers with a point. For the same reason, a decimal comma in a
 * text cell proves nothing about ambiguous numbers beside it.
 */
export const decimalMarkOf = ({marks, stored}: Pick<Column, 'marks' | 'stored'>, choice?: Choice): 'point' | 'comma' | null => {
  if (choice?.decimalMark) return choice.decimalMark
  if (stored && !stored.text && marks.ambiguous && !marks.comma) return 'point'
  if ((stored?.number || stored?.percent || stored?.scaled) && marks.ambiguous && marks.comma) return null
  const proved = (['point', 'comma'] as const).filter(mark => marks[mark] > 0)
  return proved.length === 1 ? proved[0]! : null
}

/** Whether the number format displays some numbers of a workbook's column differently from the stored numbers. */
const isFormatted = ({stored}: Pick<Column, 'stored'>) => Boolean(stored?.percent || stored?.padded || stored?.scaled)

/**
 * Returns whether the displayed or the stored numbers of a column are read; null if they do not differ. Without a choice, the displayed numbers are
 * read if the column has percentages, or if it has padded numbers and is not read as numbers. Other columns, such as those displayed in thousands,
 * are read as stored.
 */
export const numbersOf = (column: Pick<Column, 'stored'>, choice?: Choice): 'displayed' | 'stored' | null => {
  if (!isFormatted(column)) return null
  const {percent, padded} = column.stored!
  return choice?.numbers ?? (percent || (padded && choice?.as !== 'number') ? 'displayed' : 'stored')
}

/**
 * The returned function returns how the numbers of a column are read, from the choices alone: `auto` without a choice. A read that replaces the
 * evidence uses this function, because it cannot use the evidence.
 */
export const numbersChosen = (choices: Choices) => (column: string) => {
  const {numbers = 'auto', as} = choices[column] ?? {}
  return {numbers, as} as const
}
