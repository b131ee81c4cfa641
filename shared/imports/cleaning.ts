import {z} from 'zod'
import {patternFault} from './pattern.ts'
import {strikeIssue} from './strike-where.ts'

const Column = z.string().min(1).max(1000)
/** All columns where none is named. */
const columns = z.array(Column).min(1).max(1000).optional()
const Text = z.string().max(1000)

const Replace = z
  .strictObject({
    step: z.literal('replace'),
    columns,
    find: Text.min(1).max(500),
    with: Text,
    /** `find` is a regular expression of RE2's syntax, and `$1` in `with` what its first group found. */
    regex: z.boolean().default(false),
    ignoreCase: z.boolean().default(false),
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
  .strictObject({from: rowNumber, to: rowNumber})
  .refine(({from, to}) => from <= to, {path: ['to'], message: 'The last row of a range cannot come before its first'})

export const CleaningStep = z.discriminatedUnion('step', [
  z.strictObject({step: z.literal('trim'), columns}),
  /** Blanks, line ends and no-break spaces in a row become one space. */
  z.strictObject({step: z.literal('collapseSpaces'), columns}),
  Replace,
  /** An empty cell takes the value of the last row above that has one. Struck and ragged rows neither give nor take. */
  z.strictObject({step: z.literal('fillDown'), columns: z.array(Column).min(1).max(1000)}),
  /** The parts become columns of their own, after the others; the last has all that is left. */
  z.strictObject({
    step: z.literal('split'),
    column: Column,
    separator: z.string().min(1).max(100),
    into: z.array(z.string().trim().min(1).max(255)).min(2).max(50),
  }),
  /** Rows whose cells are blank: in these columns, or in all. */
  z.strictObject({step: z.literal('strikeEmpty'), columns}),
  /** Rows whose cells in these columns equal those of a row before. Rows blank in all of them are let be. */
  z.strictObject({step: z.literal('strikeDuplicates'), columns: z.array(Column).min(1).max(100), ignoreCase: z.boolean().default(false)}),
  z.strictObject({step: z.literal('strikeRows'), rows: z.array(Rows).min(1).max(1000)}),
  /** Rows for which the expression is true. */
  z.strictObject({step: z.literal('strikeWhere'), expression: z.string().min(1).max(10_000)}),
])
export type CleaningStep = z.infer<typeof CleaningStep>

/** In order: each step sees what the ones before it left. No step removes a row. */
export const Cleaning = z.array(CleaningStep).max(100)
export type Cleaning = z.infer<typeof Cleaning>

export type CleaningIssue = {path: (string | number)[]; message: string}

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
