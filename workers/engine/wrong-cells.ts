import type {Row as FileRow} from '../../shared/imports/row.ts'
import type {Failure} from './row.ts'

const mostNamed = 10
/** Of the log. */
const longestMessage = 1_000
/** Room for `; and 1,234 more`. */
const longestEnd = 20

/** One failure of a row for all its wrong cells: code and target of the first, and a message that names up to ten of them. */
export const joinFailures = (failures: Failure[]): Failure => {
  const [first, ...others] = failures as [Failure, ...Failure[]]
  if (others.length === 0) return first
  let message = withField(first).slice(0, longestMessage - longestEnd)
  let named = 1
  for (const other of others) {
    const said = `; ${withField(other)}`
    if (named === mostNamed || message.length + said.length > longestMessage - longestEnd) break
    message += said
    named++
  }
  const left = failures.length - named
  return {...first, message: left > 0 ? `${message}; and ${left.toLocaleString('en')} more` : message}
}

/** Most messages name their field; those of expressions do not. */
const withField = ({target, message}: Failure) => (target === null || message.includes(target) ? message : `${target}: ${message}`)

/** Why the file's cell cannot be imported. One that cleaning changed can be. */
export const faultAt = ({faults, cells, read = cells}: FileRow, at: number | null): string | undefined =>
  at === null || read[at] !== cells[at] ? undefined : faults?.[at]
