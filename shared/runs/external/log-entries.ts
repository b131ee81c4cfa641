import type {Tx} from '../../../sql/database.ts'
import {keepMatched, listExternalRowStates, putReleased} from '../../../sql/external-ledger.ts'
import type {ExternalRun} from '../../../sql/external-runs.ts'
import type {LogRow} from '../../../sql/ledger.ts'
import {OUTCOMES, outcomeNo, PHASES} from '../../../sql/run-log.ts'
import {openCounts} from './counts.ts'
import type {Entry} from './entries.ts'
import {writeSettlement} from './settle.ts'

/** A log entry whose names of module and flow were resolved to numbers of the run. */
export type NumberedEntry = {entry: Entry; module: number; flow: number | null}

/**
 * Logs entries as attempt 0. The caller must have locked the run. In the run's counts, a `failed` or `skipped` entry of the phase `write` replaces
 * the row's earlier outcome. This does not apply to a row that this run sent or metered.
 */
export const writeEntries = async (tx: Tx, run: ExternalRun, numbered: NumberedEntry[]) => {
  const chain = run.chainNo ?? run.no
  const counts = openCounts()
  for (const [module, mine] of Map.groupBy(numbered, one => one.module)) {
    const finals = new Map(mine.filter(({entry}) => isFinal(entry)).map(({entry}) => [entry.rowKey, entry]))
    const rowStates = await listExternalRowStates(tx, {run: run.no, chain, module, keys: [...finals.keys()]})
    const unsent = rowStates.filter(({lastAttempt, sending, counted}) => lastAttempt === 0 && !sending && !counted)
    for (const {key, outcome, unchanged} of unsent) {
      const final = finals.get(key)!
      if (outcome !== null) counts.add(module, OUTCOMES[outcome]!, -1)
      if (unchanged) counts.addUnchanged(module, -1)
      counts.add(module, final.outcome, 1)
      if (isUnchanged(final)) counts.addUnchanged(module, 1)
    }
    const rows = unsent.map(({key}) => {
      const final = finals.get(key)!
      return {module, key, attempt: 0, outcome: outcomeNo(final.outcome), unchanged: isUnchanged(final)}
    })
    if (rows.length) await putReleased(tx, {run: run.no, rows})
    const matched = mine.flatMap(({entry: {outcome, rowKey: key, recordId}}) =>
      outcome === 'skipped' && recordId !== undefined ? {module, key, recordId} : [],
    )
    if (matched.length) await keepMatched(tx, {run: run.no, chain, rows: matched})
  }
  const nothing = {batches: [], released: [], kept: [], opened: [], closed: []}
  await writeSettlement(tx, run, {...nothing, log: numbered.map(logOf), counts: counts.list()})
}

const PHASE = {failed: 'write', skipped: 'write', made_after_no_answer: 'write', would_ask: 'match', lookup: 'lookup'} as const

const isFinal = ({outcome, phase = 'write'}: Entry) => phase === 'write' && (outcome === 'failed' || outcome === 'skipped')

const isUnchanged = ({outcome, code}: Entry) => outcome === 'skipped' && code === 'UNCHANGED'

const logOf = ({entry, module, flow}: NumberedEntry): LogRow => ({
  key: entry.rowKey,
  flow,
  number: entry.rowNumber ?? null,
  module,
  phase: PHASES.indexOf(entry.phase ?? PHASE[entry.outcome]),
  target: entry.target ?? null,
  attempt: 0,
  recordId: entry.recordId ?? null,
  outcome: outcomeNo(entry.outcome),
  code: entry.code ?? null,
  message: entry.message ?? null,
})
