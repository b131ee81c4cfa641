import type {FileRow} from '../../../shared/files/row.ts'
import type {RowFailure} from '../model.ts'

const mostNamed = 10
/** The log's limit on the length of a message. */
const longestMessage = 1_000
/** Characters reserved for the end of the message: `; and 1,234 more`. */
const longestEnd = 20

/**
 * Joins the failures of a row into one. The result has the code and the target of the first failure. Its message names at most ten
 * failures, and fewer if the message would get too long.
 */
export const joinFailures = (failures: RowFailure[]): RowFailure => {
  const [first, ...others] = failures as [RowFailure, ...RowFailure[]]
  if (others.length === 0) return first
  let message = withField(first).slice(0, longestMessage - longestEnd)
  let named = 1
  for (const other of others) {
    const addition = `; ${withField(other)}`
    if (named === mostNamed || message.length + addition.length > longestMessage - longestEnd) break
    message += addition
    named++
  }
  const left = failures.length - named
  return {...first, message: left > 0 ? `${message}; and ${left.toLocaleString('en')} more` : message}
}

/** Adds the field's name to a message that does not contain it, such as the message of an expression. */
const withField = ({target, message}: RowFailure) => (target === null || message.includes(target) ? message : `${target}: ${message}`)

/** Returns why the cell cannot be imported, if it has a fault. */
export const faultAt = ({faults}: FileRow, at: number | null): string | undefined => (at === null ? undefined : faults?.[at])
