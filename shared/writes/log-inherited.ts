import type {Tx} from '../../sql/database.ts'
import {putReleased} from '../../sql/outside-ledger.ts'
import type {StandingRun} from '../../sql/outside-runs.ts'
import {outcomeNo, PHASES} from '../../sql/run-log.ts'
import type {InheritedRow} from './admit.ts'
import {openCounts} from './counts.ts'
import {writeDown} from './settle.ts'

/** Logs rows whose record an earlier run of the chain made. They count no row of the plan. The run is locked. */
export const logInherited = async (
  tx: Tx,
  run: StandingRun,
  {module, flow, rows}: {module: number; flow: number | null; rows: InheritedRow[]},
): Promise<void> => {
  const counts = openCounts()
  for (const _ of rows) counts.add(module, 'inherited', 1)
  const outcome = outcomeNo('inherited')
  const log = rows.map(row => ({
    ...{...row, flow, module, phase: PHASES.indexOf('write'), target: null, attempt: 0, outcome, code: null, message: null},
  }))
  await writeDown(tx, run, {batches: [], log, released: [], kept: [], opened: [], closed: [], counts: counts.list()})
  await putReleased(tx, {run: run.no, rows: rows.map(({key}) => ({module, key, attempt: 0, outcome}))})
}
