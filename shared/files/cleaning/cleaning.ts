import {z} from 'zod'
import {patternFault} from './pattern.ts'
import {rowFilterIssue} from './row-filter.ts'

const Column = z.string().min(1).max(1000)
const columns = z.array(Column).min(1).max(1000).optional().describe('The columns to change. Default: all')
const Text = z.string().max(1000)

const Replace = z
  .strictObject({
    step: z.literal('replace').describe('Replaces every occurrence of a text in a cell'),
    columns,
    find: Text.min(1).max(500).describe('The text to find'),
    with: Text.describe('The replacement text'),
    regex: z
      .boolean()
      .default(false)
      .describe('Whether `find` is a regular expression in RE2 syntax; `$1` in `with` inserts the first group'),
    ignoreCase: z.boolean().default(false).describe('Whether to ignore upper and lower case'),
  })
  .superRefine((step, ctx) => {
    const fault = patternFault(step)
    if (fault) ctx.addIssue({code: 'custom', path: ['find'], message: fault})
  })

const rowNumber = z
  .int()
  .min(1)
  .max(2 ** 31)
const Rows = z
  .strictObject({
    from: rowNumber.describe('The first row, counted from 1 without the header'),
    to: rowNumber.describe('The last row, inclusive'),
  })
  .refine(({from, to}) => from <= to, {path: ['to'], message: 'The last row of a range cannot be before its first row'})

/** The maximum number of edited cells of a source, so that a source stays small enough to list. */
export const mostEditedCells = 10_000
/** The maximum number of characters of all edited cells of a source together. */
export const mostEditedCharacters = 1_000_000

export const EditedCell = z.strictObject({
  row: rowNumber.describe('The row, counted from 1 without the header'),
  column: Column.describe('The column, as named after the steps before'),
  value: z.string().max(10_000).describe('The new value of the cell'),
})

const EditCells = z
  .strictObject({
    step: z.literal('editCells').describe('Sets single cells. A change of the reader removes this step, because it changes row numbers'),
    cells: z.array(EditedCell).min(1).max(mostEditedCells).describe('The cells with their new values'),
  })
  .refine(
    ({cells}) => cells.reduce((sum, {value}) => sum + value.length, 0) <= mostEditedCharacters,
    'The edited cells have more than 1,000,000 characters together. Correct the file instead',
  )

export const CleaningStep = z
  .discriminatedUnion('step', [
    z.strictObject({step: z.literal('trim').describe('Removes white space from both ends of each cell'), columns}),
    z.strictObject({
      step: z
        .literal('collapseSpaces')
        .describe('Replaces each sequence of white space, including line ends and no-break spaces, by one space'),
      columns,
    }),
    Replace,
    z.strictObject({
      step: z.literal('fillDown').describe('Fills an empty cell with the last value above it. Excluded, ragged and blank rows are skipped'),
      columns: z.array(Column).min(1).max(1000).describe('The columns to change'),
    }),
    z.strictObject({
      step: z.literal('split').describe('Splits the cells of a column into new columns, added after the others'),
      column: Column.describe('The column to split'),
      separator: z.string().min(1).max(100).describe('The text between the parts'),
      into: z
        .array(z.string().trim().min(1).max(255))
        .min(2)
        .max(50)
        .describe('Names of the new columns; the last gets the rest of the cell'),
    }),
    z.strictObject({
      step: z.literal('strikeEmpty').describe('Excludes rows whose cells in these columns are blank. Default: all columns'),
      columns,
    }),
    z.strictObject({
      step: z
        .literal('strikeDuplicates')
        .describe(
          'Excludes rows whose cells in these columns equal those of an earlier row. Rows that are blank in all these columns are kept',
        ),
      columns: z.array(Column).min(1).max(100).describe('The columns to compare'),
      ignoreCase: z.boolean().default(false).describe('Whether to ignore upper and lower case'),
    }),
    z.strictObject({
      step: z.literal('strikeRows').describe('Excludes rows by number. A change of the reader that renumbers rows removes this step'),
      rows: z.array(Rows).min(1).max(1000).describe('Ranges of rows'),
    }),
    z.strictObject({
      step: z.literal('strikeWhere').describe('Excludes rows for which the expression is true'),
      expression: z.string().min(1).max(10_000).describe('A JavaScript expression over the row'),
    }),
    EditCells,
  ])
  .meta({
    id: 'CleaningStep',
    description: 'One change of the rows before they are mapped. Excluded rows keep their numbers and are not written',
  })
export type CleaningStep = z.infer<typeof CleaningStep>

/** No step changes row numbers. */
export const Cleaning = z.array(CleaningStep).max(100).describe('Steps in order: each runs on the output of the previous ones')
export type Cleaning = z.infer<typeof Cleaning>

type CleaningIssue = {path: (string | number)[]; message: string}

export const cleaningIssues = (steps: Cleaning, columns: string[]): CleaningIssue[] => {
  const known = new Set(columns)
  return steps.flatMap((step, at): CleaningIssue[] => {
    if (step.step === 'strikeWhere') {
      const message = rowFilterIssue(step.expression, [...known])
      return message === null ? [] : [{path: [at, 'expression'], message}]
    }
    const named = namesIn(step)
    const issues = named.filter(name => !known.has(name)).map(name => ({path: [at], message: `The file has no column "${name}"`}))
    if (step.step !== 'split') return issues
    for (const name of step.into) {
      if (known.has(name)) issues.push({path: [at], message: `There is a column "${name}" already`})
      known.add(name)
    }
    return issues
  })
}

const namesIn = (step: CleaningStep): string[] => {
  if (step.step === 'split') return [step.column]
  if (step.step === 'editCells') return [...new Set(step.cells.map(({column}) => column))]
  return 'columns' in step ? (step.columns ?? []) : []
}

/** Whether a step names rows by number. Such a step fits only one file. */
export const namesRows = ({step}: CleaningStep): boolean => step === 'strikeRows' || step === 'editCells'
