type Place = {line: number | null; column: number | null}
/** What an expression gave on one row: a value, with what keeps the field from taking it, or an error. */
export type Tried =
  | {row: number; value?: unknown; problem: {code: string; message: string} | null}
  | {row: number; error: {code: string; message: string} & Place}
export type Tested = {compiles: boolean; issue: ({message: string} & Place) | null; results: Tried[]}

/** A value as a cell shows it: texts as they are, everything else as JSON. */
export const sayValue = (value: unknown): string => {
  if (value === undefined || value === null) return 'nothing'
  if (typeof value === 'string') return value === '' ? 'empty text' : value
  return JSON.stringify(value)
}

const place = (line: number | null, column: number | null) =>
  line === null ? '' : `Line ${line}${column === null ? '' : `, column ${column}`}: `

/** How an expression stands, in one sentence; `isWrong` where it cannot be left so. */
export const sayTested = ({compiles, issue, results}: Tested): {isWrong: boolean; text: string} => {
  if (!compiles)
    return {isWrong: true, text: `${place(issue?.line ?? null, issue?.column ?? null)}${issue?.message ?? 'It does not compile'}`}
  const failed = results.filter(one => 'error' in one || one.problem !== null)
  const [first] = failed
  if (!first) return {isWrong: false, text: `Works on ${results.length === 1 ? 'the sample row' : `all ${results.length} sample rows`}`}
  return {isWrong: true, text: `${failed.length} of ${results.length} sample rows fail. Row ${first.row}: ${sayTried(first)}`}
}

export const sayTried = (one: Tried): string => {
  if ('error' in one) return `${place(one.error.line, one.error.column)}${one.error.message}`
  return one.problem ? `${sayValue(one.value)}: ${one.problem.message}` : sayValue(one.value)
}
