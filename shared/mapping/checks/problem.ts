/**
 * How serious a problem is. `error`: rows will fail or be refused. `warning`: rows may fail, or may be written differently than expected.
 * `info`: useful to know.
 */
export const SEVERITIES = ['error', 'warning', 'info'] as const
type Severity = (typeof SEVERITIES)[number]

/**
 * A problem that a check found. Rows with the same problem are counted together. `kind`: the code that a run would use, in lower case, or
 * another name if there is none. `rows`: the numbers of the first 20 of the `count` affected rows; empty if no single row causes the
 * problem. `samples`: up to five cells as in the file, truncated. `place`: the line and column in an expression.
 */
export type CheckProblem = {
  severity: Severity
  kind: string
  source: string | null
  flow: string | null
  module: string | null
  field: string | null
  column: string | null
  place: {line: number; column: number} | null
  count: number
  rows: number[]
  samples: string[]
  message: string
  fix: string
}
