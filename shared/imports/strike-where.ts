import {Refusal} from '../errors.ts'
import {parseExpression} from '../expressions/parse.ts'
import {type Outcome, openSandbox, type Sandbox} from '../expressions/sandbox.ts'
import type {Row} from './row.ts'

/** Rows that cross together: few to begin with, so that an expression which never ends is told soon. */
const [fewest, most] = [10, 500]
/** For all rows of a file together: somebody waits for the end of it. */
const mostMs = 10 * 60_000

/** What is wrong with the expression over these columns; null where nothing is. It knows neither the org's libraries nor its context. */
export const strikeIssue = (expression: string, columns: string[]): string | null => {
  const result = parseExpression(expression, {columns})
  if (!result.ok) return `${result.problem.message} (line ${result.problem.line}, column ${result.problem.column})`
  return result.parsed.readsValue ? '`value` is the cell of one column, and a row has many: write `row.` and the column' : null
}

export type Striking = {
  /** Says of the rows for which the expression is true that they are struck. Throws Refusal at the first row it fails for. */
  strike(rows: Row[]): Promise<void>
  close(): Promise<void>
}

/**
 * Over the rows as the steps before left them, ragged ones aside. What a file's rows are must not depend on when it is read: `Date` is at
 * 1970, and random numbers are the same again. The sandbox is opened with the first row.
 */
export const openStriking = (expression: string, columns: string[]): Striking => {
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
          ...{clock: 0, seed: ''},
        })
        spentMs += performance.now() - since
        if (spentMs > mostMs) throw tooSlow(some[0]!)
        for (const [at, {struck}] of outcomes.entries())
          if (isTrue(some[at]!, struck)) some[at]!.struck = 'The row was struck by an expression'
        from += some.length
        together = Math.min(most, together * 2)
      }
    },
    close: async () => sandbox?.close(),
  }
}

const tooSlow = ({rowNumber: row}: Row) =>
  new Refusal('UNREADABLE', `The expression that strikes rows has taken ten minutes by row ${row}. Make it simpler`, {row})

const isTrue = ({rowNumber: row}: Row, outcome: Outcome): boolean => {
  if ('value' in outcome) return Boolean(outcome.value)
  const {code, message, line, column} = outcome.error
  const place = line === null ? '' : ` (line ${line}, column ${column})`
  throw new Refusal('UNREADABLE', `The expression that strikes rows fails at row ${row}: ${message}${place}. Mend the cleaning step`, {
    row,
    reason: code,
  })
}
