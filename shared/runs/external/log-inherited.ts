import type {Tx} from '../../../sql/database.ts'
import {putReleased} from '../../../sql/external-ledger.ts'
import type {ExternalRun} from '../../../sql/external-runs.ts'
import {outcomeNo, PHASES} from '../../../sql/run-log.ts'
import type {InheritedUnitRow} from './admit.ts'
import {openCounts} from './counts.ts'
import {countedOutcomeOf, writeSettlement} from './settle.ts'

/**
 * Logs rows whose record an earlier run of the chain made, and counts them as inherited. Inherited rows are not metered. The caller must
 * have locked the run.
 */
export const logInherited = async (
  tx: Tx,
  run: ExternalRun,
  {module, flow, rows}: {module: number; flow: number | null; rows: InheritedUnitRow[]},
): Promise<void> => {
  const counts = openCounts()
  for (const {before} of rows) {
    const counted = countedOutcomeOf(before)
    if (counted) counts.add(module, counted, -1)
    if (before.unchanged) counts.addUnchanged(module, -1)
    counts.add(module, 'inherited', 1)
  }
  const outcome = outcomeNo('inherited')
  const log = rows.flatMap(({before, ...row}) => {
    const entry = {...row, flow, module, phase: PHASES.indexOf('write'), target: null, attempt: 0, outcome, code: null, message: null}
    return before.mayExistTwice ? [entry, {...entry, outcome: outcomeNo('made_after_no_answer')}] : [entry]
  })
  await writeSettlement(tx, run, {batches: [], log, released: [], kept: [], opened: [], closed: [], counts: counts.list()})
  await putReleased(tx, {run: run.no, rows: rows.map(({key}) => ({module, key, attempt: 0, outcome}))})
}
