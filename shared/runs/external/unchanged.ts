import type {Tx} from '../../../sql/database.ts'
import {listExternalRowStates, listOpenTargets} from '../../../sql/external-ledger.ts'
import type {ExternalRun} from '../../../sql/external-runs.ts'
import {keepResults, listOpenAts} from '../../../sql/writes.ts'
import {writeEntries} from './log-entries.ts'
import type {RecordItem, RecordsRequest} from './records.ts'

type SkipUnchangedInput = {write: string; request: RecordsRequest; items: RecordItem[]}

/**
 * Ends items as skipped, logged and not metered, and returns their indexes. The caller found that their records already have every value. Leaves out
 * items that have a result, are in flight or have an open question, and items whose row key belongs to a subform row. Also leaves out items whose
 * record an unanswered update may still change. The caller must have locked the run.
 */
export const skipUnchanged = async (tx: Tx, run: ExternalRun, {write, request, items}: SkipUnchangedInput): Promise<Set<number>> => {
  const {module, moduleNo, flowNo} = request
  const place = {run: run.no, chain: run.chainNo ?? run.no, module: moduleNo}
  const states = await listExternalRowStates(tx, {...place, keys: items.map(({rowKey}) => rowKey)})
  const open = new Set(await listOpenAts(tx, write))
  const moving = new Set(await listOpenTargets(tx, {...place, records: items.map(({recordId}) => recordId!)}))
  const skipped = items.filter(({at, recordId}, n) => {
    const {kind, sending, parent} = states[n]!
    return open.has(at) && kind === null && !sending && parent === null && !moving.has(recordId!)
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
