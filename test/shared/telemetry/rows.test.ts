import test from 'ava'
import {registry} from '../../../shared/telemetry/metrics/registry.ts'
import {rowsSettled} from '../../../shared/telemetry/metrics/rows.ts'
import {deletedAt, keptEditsAt, keptRowsAt, outcomeNo, staleAt, unchangedAt} from '../../../sql/run-log.ts'
import {readSamples, sumOf} from '../../support/metrics.ts'

test('each settled row counts once, whatever else its run counts of it', async t => {
  const counts = Array(40).fill(0)
  counts[outcomeNo('updated')] = 7
  counts[outcomeNo('skipped')] = 5
  for (const at of [deletedAt, keptEditsAt, keptRowsAt, staleAt]) counts[at(1)] = 3
  rowsSettled(counts)
  const samples = readSamples(await registry.metrics())
  const settledOf = (outcome: string) => sumOf(samples, 'lading_rows_settled_total', {outcome})
  t.deepEqual([settledOf('updated'), settledOf('skipped'), sumOf(samples, 'lading_rows_settled_total')], [7, 5, 12])
  rowsSettled(counts.map((_, at) => (at === unchangedAt(1) ? 2 : 0)))
  t.is(sumOf(readSamples(await registry.metrics()), 'lading_rows_settled_total', {outcome: 'unchanged'}), 2)
})
