import {z} from 'zod'
import type {DateOrder} from './cell-kind.ts'
import type {ColumnEvidence} from './evidence.ts'

/** What a person decided of a column that its values leave open. */
const Choice = z
  .strictObject({
    dateOrder: z.enum(['dmy', 'mdy', 'ymd']).optional().describe('In which order its dates have day, month and year'),
    decimalMark: z.enum(['point', 'comma']).optional().describe('What stands before the decimals of its numbers'),
    as: z.enum(['text', 'number']).optional().describe('`text` keeps zeros and digits a number would lose; `number` accepts the loss'),
  })
  .refine(choice => Object.keys(choice).length > 0, 'A choice says something: dateOrder, decimalMark or as')
export type Choice = z.infer<typeof Choice>

export const Choices = z.record(z.string(), Choice).describe('By column: what a person decided where its values leave it open')
export type Choices = z.infer<typeof Choices>

/** As a person sends them: null takes a column's choice back. */
export const ChoiceChanges = z
  .record(z.string(), Choice.nullable())
  .refine(changes => Object.keys(changes).length <= 1000, 'At most 1,000 columns')
  .describe('By column: what is decided; null takes a decision back')
export type ChoiceChanges = z.infer<typeof ChoiceChanges>

/** How each column's values are read: as chosen, else as its values prove. Columns of which nothing is known are left out. */
export const readingsOf = (columns: Pick<ColumnEvidence, 'name' | 'dates' | 'marks'>[], choices: Choices): Record<string, Choice> =>
  Object.fromEntries(
    columns.flatMap(column => {
      const choice = choices[column.name]
      const [dateOrder, decimalMark] = [dateOrderOf(column, choice), decimalMarkOf(column, choice)]
      const reading = {...choice, ...(dateOrder && {dateOrder}), ...(decimalMark && {decimalMark})}
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

/** The same for numbers. */
export const decimalMarkOf = ({marks}: Pick<ColumnEvidence, 'marks'>, choice?: Choice): 'point' | 'comma' | null => {
  if (choice?.decimalMark) return choice.decimalMark
  const proved = (['point', 'comma'] as const).filter(mark => marks[mark] > 0)
  return proved.length === 1 ? proved[0]! : null
}
