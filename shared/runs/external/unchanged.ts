import type {Tx} from '../../../sql/database.ts'
import {listExternalRowStates, listOpenTargets} from '../../../sql/external-ledger.ts'
import type {ExternalRun} from '../../../sql/external-runs.ts'
import {outcomeNo} from '../../../sql/run-log.ts'
import {keepResults, listOpenAts} from '../../../sql/writes.ts'
import {writeEntries} from './log-entries.ts'
import type {RecordItem, RecordsRequest} from './records.ts'

const refused = outcomeNo('refused')

type SkipUnchangedInput = {write: string; request: RecordsRequest; items: RecordItem[]}

/**
 * Ends items whose records already have every value, as the caller found. Logs them as skipped, does not meter them, and returns their indexes.
 * Leaves out an item that has a result, is in flight, or whose row has an unsettled entry. Leaves it out too if its row key belongs to a subform
 * row, or if an unanswered update may still change its record. Leaves out a row that the run counts as refused, because only another send can
 * replace that outcome. The caller must have locked the run.
 */
export const skipUnchanged = async (tx: Tx, run: ExternalRun, {write, request, items}: SkipUnchangedInput): Promise<Set<number>> => {
  const {module, moduleNo, flowNo} = request
  const place = {run: run.no, chain: run.chainNo ?? run.no, module: moduleNo}
  const states = await listExternalRowStates(tx, {...place, keys: items.map(({rowKey}) => rowKey)})
  const open = new Set(await listOpenAts(tx, write))
  const moving = new Set(await listOpenTargets(tx, {...place, records: items.map(({recordId}) => recordId!)}))
  const skipped = items.filter(({at, recordId}, n) => {
    const {kind, sending, parent, outcome} = states[n]!
    return open.has(at) && kind === null && !sending && parent === null && !moving.has(recordId!) && outcome !== refused
  })
  if (skipped.length === 0) return new Set()
  const skipEntry = {module, outcome: 'skipped', code: 'UNCHANGED', message: 'The record already holds these values'} as const
  const entries = skipped.map(({rowKey, rowNumber, recordId}) => ({...skipEntry, rowKey, rowNumber, recordId: recordId!}))
  await writeEntries(
    tx,
    run,
    entries.map(entry => ({entry, module: moduleNo, flow: flowNo})),
  )
  const results = skipped.map(({at, recordId}) => ({at, result: {ok: true, recordId, outcome: 'skipped', code: 'UNCHANGED'}, again: false}))
  await keepResults(tx, {write, results})
  return new Set(skipped.map(({at}) => at))
}
