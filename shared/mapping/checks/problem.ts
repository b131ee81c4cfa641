/** `error`: rows will fail or be refused. `warning`: rows may fail, or may be written differently than expected. `info`: useful to know. */
export const SEVERITIES = ['error', 'warning', 'info'] as const
type Severity = (typeof SEVERITIES)[number]

/**
 * Rows with the same problem are counted together. `kind`: the code that a run would report, in lower case, or a name of the check if runs have no
 * such code. `rows`: the numbers of the first 20 affected rows; empty if no single row causes the problem. `samples`: up to five cells of the file,
 * truncated. `place`: the position in an expression.
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
