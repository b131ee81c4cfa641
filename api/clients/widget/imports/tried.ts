import {t} from '../text/options.ts'

type TriedInput = {line: number | null; column: number | null}
/** The result of an expression on one row: an error, or a value. `problem`: why the field does not accept the value. */
export type TriedRow =
  | {row: number; value?: unknown; problem: {code: string; message: string} | null}
  | {row: number; error: {code: string; message: string} & TriedInput}
export type TestedExpression = {compiles: boolean; issue: ({message: string} & TriedInput) | null; results: TriedRow[]}

const sayValue = (value: unknown): string => {
  if (value === undefined || value === null) return t.noValue
  if (typeof value === 'string') return value === '' ? t.emptyText : value
  return JSON.stringify(value)
}

const place = (line: number | null, column: number | null) =>
  line === null ? '' : `${column === null ? t.inLine(line) : t.inLineAndColumn(line, column)}: `

/** Describes the result of a test in one sentence. `isWrong` means that the expression needs a fix. */
export const sayTested = ({compiles, issue, results}: TestedExpression): {isWrong: boolean; text: string} => {
  if (!compiles)
    return {
      isWrong: true,
      text: `${place(issue?.line ?? null, issue?.column ?? null)}${issue?.message ?? t.theExpressionDoesNotCompile}`,
    }
  const failed = results.filter(one => 'error' in one || one.problem !== null)
  const [first] = failed
  if (!first) return {isWrong: false, text: t.worksOnSamples(results.length)}
  return {isWrong: true, text: t.ofSampleRowsFailRow(failed.length, results.length, first.row, sayTried(first))}
}

export const sayTried = (one: TriedRow): string => {
  if ('error' in one) return `${place(one.error.line, one.error.column)}${one.error.message}`
  return one.problem ? `${sayValue(one.value)}: ${one.problem.message}` : sayValue(one.value)
}
