import {z} from 'zod'
import type {Tx} from '../../sql/database.ts'
import type {StandingRun} from '../../sql/outside-runs.ts'
import {dropRequest, findWrite, keepUnsent, listOpenAts, listOpenWrites, listResults} from '../../sql/writes.ts'
import type {Refusal} from '../errors.ts'
import {type NumberedEntry, writeEntries} from './log-entries.ts'

/** Ends the accepted writes of a run that are not in flight. Their results and log entries give the refusal. The caller must have locked the run. */
export const refusePending = async (tx: Tx, run: StandingRun, {code, message, extra}: Refusal): Promise<void> => {
  for (const id of await listOpenWrites(tx, run.no)) {
    const ats = await listOpenAts(tx, id)
    await keepUnsent(tx, {write: id, result: {ok: false, ...extra, code, error: message, written: false}})
    await logUnsent(tx, run, {id, ats})
    await dropRequest(tx, id)
  }
}

type UnsentQuery = {
  id: string
  /** The items to look at. */
  ats?: readonly number[]
}

/**
 * Logs the rows of a write that were not sent, for a run whose engine has said that it is done: no engine sends them again. The request is
 * dropped afterwards, so that each row is logged once. The caller must have locked the run.
 */
export const logUnsent = async (tx: Tx, run: StandingRun, {id, ats}: UnsentQuery): Promise<void> => {
  const write = await findWrite(tx, {org: run.org, id})
  if (!write?.request) return
  const {module, flow, items} = Request.parse(write.request)
  const unsent = new Map((await listResults(tx, id)).flatMap(({at, result}) => (isUnsent(result) ? [[at, result] as const] : [])))
  const entries = items.flatMap(({at, rows}) => {
    const result = unsent.get(at)
    if (!result || (ats && !ats.includes(at))) return []
    return rows.map(({rowKey, rowNumber}): NumberedEntry => {
      const named = {rowKey, rowNumber, module: '', outcome: 'failed' as const}
      return {module, flow, entry: {...named, code: result.code, message: result.error.slice(0, 1_000)}}
    })
  })
  if (entries.length > 0) await writeEntries(tx, run, entries)
}

type UnsentResult = {code?: string; error: string}

const isUnsent = (result: unknown): result is UnsentResult => (result as {written?: boolean} | null)?.written === false

const Row = z.object({rowKey: z.string(), rowNumber: z.number().optional()})

/** What the requests to write records and to replace rows have in common: the rows of each item. */
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
