import {z} from 'zod'
import type {DateOrder} from './cell-kind.ts'
import type {ColumnEvidence} from './evidence.ts'
import type {Numbers} from './xlsx/cell.ts'
import type {Stored} from './xlsx/xlsx-file.ts'

/** What a person decided of a column that its values leave open. */
const Choice = z
  .strictObject({
    dateOrder: z.enum(['dmy', 'mdy', 'ymd']).optional().describe('In which order its dates have day, month and year'),
    decimalMark: z.enum(['point', 'comma']).optional().describe('What stands before the decimals of its numbers'),
    as: z.enum(['text', 'number']).optional().describe('`text` keeps zeros and digits a number would lose; `number` accepts the loss'),
    numbers: z
      .enum(['displayed', 'stored'])
      .optional()
      .describe('Of a workbook: `displayed` reads 25 where the number format displays 25 %, `stored` reads the 0.25 of the file'),
  })
  .refine(choice => Object.keys(choice).length > 0, 'A choice says something: dateOrder, decimalMark, as or numbers')
export type Choice = z.infer<typeof Choice>

/** How a column is read: its choice, and what its values prove. Without `numbers` all its numbers are read as stored. */
export type Reading = Omit<Choice, 'numbers'> & {numbers?: Numbers | undefined}

export const Choices = z.record(z.string(), Choice).describe('By column: what a person decided where its values leave it open')
export type Choices = z.infer<typeof Choices>

/** As a person sends them: null takes a column's choice back. */
export const ChoiceChanges = z
  .record(z.string(), Choice.nullable())
  .refine(changes => Object.keys(changes).length <= 1000, 'At most 1,000 columns')
  .describe('By column: what is decided; null takes a decision back')
export type ChoiceChanges = z.infer<typeof ChoiceChanges>

type Column = Pick<ColumnEvidence, 'name' | 'dates' | 'marks'> & {stored?: Stored}

/** How each column's values are read: as chosen, else as its values prove. Columns of which nothing is known are left out. */
export const readingsOf = (columns: Column[], choices: Choices): Record<string, Reading> =>
  Object.fromEntries(
    columns.flatMap(column => {
      const choice = choices[column.name]
      const [dateOrder, decimalMark] = [dateOrderOf(column, choice), decimalMarkOf(column, choice)]
      const numbers = isFormatted(column) ? (choice?.numbers ?? 'auto') : undefined
      const reading: Reading = {...choice, ...(dateOrder && {dateOrder}), ...(decimalMark && {decimalMark}), ...(numbers && {numbers})}
      return Object.keys(reading).length ? [[column.name, reading]] : []
    }),
  )

type Dates = Pick<ColumnEvidence, 'dates'>

/** The order a column's dates are in: as chosen, or as proved by some value and contradicted by none. */
export const dateOrderOf = ({dates}: Dates, choice?: Choice): DateOrder | null => {
  if (choice?.dateOrder) return choice.dateOrder
  const proved = (['dmy', 'mdy', 'ymd'] as const).filter(order => dates[order] > 0)
  return proved.length === 1 ? proved[0]! : null
}

/** The same for numbers. The numbers of a workbook are stored with a point. */
export const decimalMarkOf = ({marks, stored}: Pick<Column, 'marks' | 'stored'>, choice?: Choice): 'point' | 'comma' | null => {
  if (choice?.decimalMark) return choice.decimalMark
  if (stored && !stored.text && marks.ambiguous && !marks.comma) return 'point'
  const proved = (['point', 'comma'] as const).filter(mark => marks[mark] > 0)
  return proved.length === 1 ? proved[0]! : null
}

/** Whether some numbers of a workbook's column are displayed as other numbers or texts than the file holds. */
const isFormatted = ({stored}: Pick<Column, 'stored'>) => Boolean(stored?.percent || stored?.padded || stored?.scaled)

/** Which of the two applies to a column where they differ: as chosen, else as displayed, but for numbers displayed in thousands. Else null. */
export const numbersOf = (column: Pick<Column, 'stored'>, choice?: Choice): 'displayed' | 'stored' | null => {
  if (!isFormatted(column)) return null
  const {percent, padded} = column.stored!
  return choice?.numbers ?? (percent || (padded && choice?.as !== 'number') ? 'displayed' : 'stored')
}

/** For columns that are to be read anew: only what was chosen is known. */
export const numbersChosen = (choices: Choices) => (column: string) => {
  const {numbers = 'auto', as} = choices[column] ?? {}
  return {numbers, as} as const
}
