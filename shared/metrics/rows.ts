import {OUTCOMES, outcomeNoAt} from '../../sql/run-log.ts'
import {counter} from './registry.ts'

const settled = counter({
  name: 'rows_settled_total',
  help: 'Rows whose outcome was written down, by outcome; one settled anew counts again. Its rate is rows per second',
  labels: ['outcome'],
})
const batches = counter({name: 'batches_total', help: 'Requests that carried rows of a run, by what they do', labels: ['kind']})
const ended = counter({
  name: 'runs_ended_total',
  help: 'Runs this process brought to their end; `done`, or why they stopped before it',
  labels: ['reason'],
})

/** Once a statement that settled rows, which may be a thousand of them. `counts`: as its head keeps them. */
export const rowsSettled = (counts: readonly number[]): void => {
  const sums = new Map<number, number>()
  for (const [at, count] of counts.entries()) if (count > 0) sums.set(outcomeNoAt(at), (sums.get(outcomeNoAt(at)) ?? 0) + count)
  for (const [no, count] of sums) settled.inc({outcome: OUTCOMES[no] ?? 'filtered'}, count)
}

export const batchSent = (kind: 'create' | 'update' | 'replace' | 'patch' | 'outside'): void => batches.inc({kind})

export const runEnded = (reason: string): void => ended.inc({reason})
