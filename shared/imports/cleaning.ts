import {z} from 'zod'
import {patternFault} from './pattern.ts'
import {strikeIssue} from './strike-where.ts'

const Column = z.string().min(1).max(1000)
const columns = z.array(Column).min(1).max(1000).optional().describe('The columns it is done to; all where none is named')
const Text = z.string().max(1000)

const Replace = z
  .strictObject({
    step: z.literal('replace').describe('Puts one text in the place of another, wherever it stands in a cell'),
    columns,
    find: Text.min(1).max(500).describe('What is looked for'),
    with: Text.describe('What stands there instead'),
    regex: z
      .boolean()
      .default(false)
      .describe('`find` is a regular expression of RE2’s syntax, and `$1` in `with` what its first group found'),
    ignoreCase: z.boolean().default(false).describe('Small and capital letters are the same'),
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
    to: rowNumber.describe('The last row, itself among them'),
  })
  .refine(({from, to}) => from <= to, {path: ['to'], message: 'The last row of a range cannot come before its first'})

export const CleaningStep = z
  .discriminatedUnion('step', [
    z.strictObject({step: z.literal('trim').describe('Takes blanks off both ends of each cell'), columns}),
    z.strictObject({
      step: z.literal('collapseSpaces').describe('Blanks, line ends and no-break spaces in a row become one space'),
      columns,
    }),
    Replace,
    z.strictObject({
      step: z
        .literal('fillDown')
        .describe('An empty cell takes the value of the last row above that has one. Struck and ragged rows neither give nor take'),
      columns: z.array(Column).min(1).max(1000).describe('The columns it is done to'),
    }),
    z.strictObject({
      step: z.literal('split').describe('The parts of a cell become columns of their own, after the others'),
      column: Column.describe('The column that is split'),
      separator: z.string().min(1).max(100).describe('What stands between the parts'),
      into: z.array(z.string().trim().min(1).max(255)).min(2).max(50).describe('Names of the new columns; the last has all that is left'),
    }),
    z.strictObject({step: z.literal('strikeEmpty').describe('Strikes rows whose cells are blank: in these columns, or in all'), columns}),
    z.strictObject({
      step: z
        .literal('strikeDuplicates')
        .describe('Strikes rows whose cells in these columns equal those of a row before. Rows blank in all of them are let be'),
      columns: z.array(Column).min(1).max(100).describe('The columns that are compared'),
      ignoreCase: z.boolean().default(false).describe('Small and capital letters are the same'),
    }),
    z.strictObject({
      step: z.literal('strikeRows').describe('Strikes rows by number'),
      rows: z.array(Rows).min(1).max(1000).describe('Ranges of rows'),
    }),
    z.strictObject({
      step: z.literal('strikeWhere').describe('Strikes rows for which the expression is true'),
      expression: z.string().min(1).max(10_000).describe('A JavaScript expression over the row'),
    }),
  ])
  .meta({
    id: 'CleaningStep',
    description: 'One thing done to the rows before they are read. None removes a row: struck rows are left out of everything',
  })
export type CleaningStep = z.infer<typeof CleaningStep>

/** In order: each step sees what the ones before it left. No step removes a row. */
export const Cleaning = z.array(CleaningStep).max(100).describe('In order: each step sees what the ones before it left')
export type Cleaning = z.infer<typeof Cleaning>

type CleaningIssue = {path: (string | number)[]; message: string}

/** What of the steps does not fit the file's columns; empty when everything does. */
export const cleaningIssues = (steps: Cleaning, columns: string[]): CleaningIssue[] => {
  const known = new Set(columns)
  return steps.flatMap((step, at): CleaningIssue[] => {
    if (step.step === 'strikeWhere') {
      const message = strikeIssue(step.expression, [...known])
      return message === null ? [] : [{path: [at, 'expression'], message}]
    }
    const named = step.step === 'split' ? [step.column] : 'columns' in step ? (step.columns ?? []) : []
    const issues = named.filter(name => !known.has(name)).map(name => ({path: [at], message: `The file has no column "${name}"`}))
    if (step.step !== 'split') return issues
    for (const name of step.into) {
      if (known.has(name)) issues.push({path: [at], message: `There is a column "${name}" already`})
      known.add(name)
    }
    return issues
  })
}
