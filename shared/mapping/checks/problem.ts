/**
 * How serious a problem is. `error`: rows will fail or be refused. `warning`: rows may fail, or may be written differently than expected.
 * `info`: a fact that is useful to know.
 */
export const SEVERITIES = ['error', 'warning', 'info'] as const
type Severity = (typeof SEVERITIES)[number]

/**
 * A problem that a check found, one per place. `kind` is the code that a run would use, in lower case, if there is one. `rows` lists the
 * first of the `count` affected rows; it is empty if no single row causes the problem. `samples` has cells as in the file. `place` is the
 * line and column in an expression.
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
