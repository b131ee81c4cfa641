import {isDeletedAt, isKeptEditsAt, isKeptRowsAt, isStaleAt, isUnchangedAt, OUTCOMES, outcomeNoAt} from '../../../sql/run-log.ts'
import {type FieldCounts, RESULTS} from '../../../sql/verify-results.ts'
import {counter} from './registry.ts'

const settled = counter({
  name: 'rows_settled_total',
  help: 'Settled rows by outcome, with unchanged rows also under skipped; a row that is settled again counts again. The rate is rows per second',
  labels: ['outcome'],
})
const batches = counter({name: 'batches_total', help: 'Requests with rows of a run, by their kind', labels: ['kind']})
const ended = counter({
  name: 'runs_ended_total',
  help: 'Runs that this process ended: `done`, or why they stopped early',
  labels: ['reason'],
})

/**
 * Counts settled rows. Call this once per statement, which may settle a thousand rows. `counts`: the counts in the order of the run's head row.
 */
export const rowsSettled = (counts: readonly number[]): void => {
  const sums = new Map<number, number>()
  for (const [at, count] of counts.entries()) if (count > 0) sums.set(outcomeNoAt(at), (sums.get(outcomeNoAt(at)) ?? 0) + count)
  for (const [no, count] of sums) {
    // Kept, deleted and stale rows are also counted under another outcome, and kept edits are no rows.
    if (isKeptEditsAt(no) || isKeptRowsAt(no) || isDeletedAt(no) || isStaleAt(no)) continue
    settled.inc({outcome: OUTCOMES[no] ?? (isUnchangedAt(no) ? 'unchanged' : 'filtered')}, count)
  }
}

const verified = counter({
  name: 'values_verified_total',
  help: 'Written values that were read back, by what the CRM held: `as_sent`, `truncated`, `coerced`, `changed`, `missing` or `uncompared`',
  labels: ['result'],
})

export const valuesVerified = (fields: readonly FieldCounts[]): void => {
  for (const result of RESULTS) {
    const count = fields.reduce((sum, counts) => sum + counts[result], 0)
    if (count > 0) verified.inc({result}, count)
  }
}

export const batchSent = (kind: 'create' | 'update' | 'replace' | 'patch' | 'tag' | 'delete' | 'undelete' | 'outside'): void =>
  batches.inc({kind})

export const runEnded = (reason: string): void => ended.inc({reason})
