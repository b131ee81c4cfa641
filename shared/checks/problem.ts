/** `error`: rows fail or are refused. `warning`: rows may be, or something else comes of them than their writer may expect. `info`: good to know. */
export const SEVERITIES = ['error', 'warning', 'info'] as const
type Severity = (typeof SEVERITIES)[number]

/**
 * What a check found, once for each place it was found in. `kind` is the run's own code where it has one, in small letters. `rows`: the first
 * of `count`; where no single row is to blame, none. `samples`: cells as the file has them. `place`: line and column in an expression.
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
