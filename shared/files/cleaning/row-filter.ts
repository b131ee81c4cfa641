import {Refusal} from '../../errors.ts'
import {parseExpression} from '../../expressions/parse.ts'
import {type ExpressionOutcome, openSandbox, type Sandbox} from '../../expressions/sandbox.ts'
import type {FileRow} from '../row.ts'

/**
 * Minimum and maximum of rows per call of the sandbox. The first call has the fewest rows, so that an endless expression is detected soon.
 */
const [fewest, most] = [10, 500]
/** Time limit for all rows of a file, because a user waits for the result. */
const mostMs = 10 * 60_000

/** Returns the error of a row filter over these columns, or null. The expression cannot use the org's libraries or context. */
export const rowFilterIssue = (expression: string, columns: string[]): string | null => {
  const result = parseExpression(expression, {columns})
  if (!result.ok) return `${result.problem.message} (line ${result.problem.line}, column ${result.problem.column})`
  return result.parsed.readsValue ? '`value` is the cell of one column and is not available here. Use `row.` and the column name' : null
}

export type RowFilter = {
  /** Sets `struck` of the rows for which the expression is true. If the expression fails for a row, throws a Refusal. */
  strike(rows: FileRow[]): Promise<void>
  close(): Promise<void>
}

/**
 * Evaluates the expression on the output of the earlier steps. Ragged rows are skipped. `Date` returns 1970 and random numbers repeat, so that the
 * result does not depend on the time of reading. The sandbox is opened at the first row.
 */
export const openRowFilter = (expression: string, columns: string[]): RowFilter => {
  const result = parseExpression(expression, {columns})
  const fields = (result.ok && result.parsed.fields) || columns
  const read = [...new Set(fields)].flatMap(name => (columns.includes(name) ? [{name, at: columns.indexOf(name)}] : []))
  let sandbox: Sandbox | null = null
  let together = fewest
  let spentMs = 0
  return {
    async strike(rows) {
      const whole = rows.filter(({ragged}) => !ragged)
      for (let from = 0; from < whole.length; ) {
        const some = whole.slice(from, from + together)
        sandbox ??= openSandbox()
        const since = performance.now()
        const outcomes = await sandbox.evaluate({
          expressions: {struck: expression},
          rows: some.map(({cells}) => Object.fromEntries(read.map(({name, at}) => [name, cells[at] ?? '']))),
          numbers: some.map(({rowNumber}) => rowNumber),
          clock: 0,
          seed: '',
        })
        spentMs += performance.now() - since
        if (spentMs > mostMs) throw tooSlow(some[0]!)
        for (const [at, {struck}] of outcomes.entries())
          if (isTrue(some[at]!, struck)) some[at]!.struck = 'The row was excluded by an expression'
        from += some.length
        together = Math.min(most, together * 2)
      }
    },
    close: async () => sandbox?.close(),
  }
}

const tooSlow = ({rowNumber: row}: FileRow) =>
  new Refusal('UNREADABLE', `The expression that excludes rows has taken ten minutes by row ${row}. Make it simpler`, {row})

const isTrue = ({rowNumber: row}: FileRow, outcome: ExpressionOutcome): boolean => {
  if ('value' in outcome) return Boolean(outcome.value)
  const {code, message, line, column} = outcome.error
  const place = line === null ? '' : ` (line ${line}, column ${column})`
  throw new Refusal('UNREADABLE', `The expression that excludes rows fails at row ${row}: ${message}${place}. Correct the cleaning step`, {
    row,
    reason: code,
  })
}
