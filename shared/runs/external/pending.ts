import {z} from 'zod'
import type {Tx} from '../../../sql/database.ts'
import type {ExternalRun} from '../../../sql/external-runs.ts'
import {keepUnsentRows, takeUnsentRows, type UnsentRow} from '../../../sql/unsent-rows.ts'
import {dropRequest, findWrite, keepUnsent, listOpenWrites, listResults, listTriedWrites} from '../../../sql/writes.ts'
import type {Refusal} from '../../errors.ts'
import {storableText} from '../../schema/storable-text.ts'
import {type NumberedEntry, writeEntries} from './log-entries.ts'

/**
 * Refuses the items of a run's accepted writes that have no result and are not in flight. The refusal becomes the result of each item. The caller
 * must have locked the run.
 */
export const refusePending = async (tx: Tx, run: ExternalRun, {code, message, extra}: Refusal): Promise<void> => {
  for (const id of await listOpenWrites(tx, run.no)) {
    await keepUnsent(tx, {write: id, result: {ok: false, ...extra, code, error: message, written: false}})
    await endRequest(tx, run, id)
  }
}

/** Ends a write: stores the rows that were not sent, and deletes the stored request. The caller must have locked the run. */
export const endRequest = async (tx: Tx, run: ExternalRun, id: string): Promise<void> => {
  const write = await findWrite(tx, {org: run.org, id})
  if (!write?.request) return
  const {module, flow, items} = Request.parse(write.request)
  const unsent = new Map((await listResults(tx, id)).flatMap(({at, result}) => (isUnsent(result) ? [[at, result] as const] : [])))
  const rows = items.flatMap(({at, rows}) => {
    const result = unsent.get(at)
    if (!result) return []
    const why = {code: result.code ?? null, message: storableText(result.error, 1_000)}
    return rows.map(({rowKey, rowNumber = null}): UnsentRow => ({module, flow, key: rowKey, number: rowNumber, ...why}))
  })
  if (rows.length > 0) await keepUnsentRows(tx, {run: run.no, rows})
  await dropRequest(tx, id)
}

const rowsPerLook = 1_000

/**
 * Logs the accepted rows of an ending run that were never sent and that the engine did not log. No engine will send them later. The caller must have
 * locked the run.
 */
export const logUnsent = async (tx: Tx, run: ExternalRun): Promise<void> => {
  // A worker may have stored a write's results without ending its request.
  for (const id of await listTriedWrites(tx, run.no)) await endRequest(tx, run, id)
  for (;;) {
    const rows = await takeUnsentRows(tx, {run: run.no, limit: rowsPerLook})
    const entries = rows.filter(({isOpen}) => isOpen).map(entryOf)
    if (entries.length > 0) await writeEntries(tx, run, entries)
    if (rows.length < rowsPerLook) return
  }
}

const entryOf = ({module, flow, key, number, code, message}: UnsentRow): NumberedEntry => {
  const row = {rowKey: key, rowNumber: number ?? undefined, module: '', outcome: 'failed' as const}
  return {module, flow, entry: {...row, code: code ?? undefined, message}}
}

type UnsentResult = {code?: string; error: string}

const isUnsent = (result: unknown): result is UnsentResult => (result as {written?: boolean} | null)?.written === false

const Row = z.object({rowKey: z.string(), rowNumber: z.number().optional()})

/** The common part of stored requests for records and for subform rows: module, flow, and the rows of each item. */
const Request = z
  .object({
    moduleNo: z.number().optional(),
    childNo: z.number().optional(),
    flowNo: z.number().nullable(),
    items: z.array(z.object({at: z.number(), rows: z.array(Row).optional(), ...Row.partial().shape})),
  })
  .transform(({moduleNo, childNo, flowNo, items}) => ({
    module: (moduleNo ?? childNo)!,
    flow: flowNo,
    items: items.map(({at, rows, ...row}) => ({at, rows: rows ?? [Row.parse(row)]})),
  }))
