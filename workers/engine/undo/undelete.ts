import {setTimeout as sleep} from 'node:timers/promises'
import type {CrmRecord, RecordAnswer, WriteAnswer, WriteOptions} from '../../../shared/crm/crm.ts'
import {unanswered} from '../../../shared/crm/outcome.ts'
import {readInParts} from '../../../shared/crm/read-in-parts.ts'
import type {Context} from '../context.ts'
import type {CompiledFlow} from '../model.ts'

/** The pauses in ms between reads of records whose restore the CRM only scheduled. */
const pollsMs = [500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000]

/**
 * Takes records out of the recycle bin. If the CRM only schedules the restore, reads the records for up to a minute, until it shows them.
 * Records that it does not show in time get an unanswered result. The results contain the `Modified_Time` of returned records, if it was
 * read.
 */
export const undelete = async (ctx: Context, flow: CompiledFlow, ids: string[], options: WriteOptions): Promise<WriteAnswer> => {
  const {scheduled, ...answer} = await ctx.connection.restoreRecords!(ids, options)
  const missing = new Set(scheduled)
  const times = new Map<string, string>()
  const look = async (some: Iterable<string>) => {
    for (const [id, {Modified_Time: time}] of await readTimes(ctx, flow, [...some])) {
      missing.delete(id)
      times.set(id, String(time))
    }
  }
  for (const ms of missing.size > 0 ? pollsMs : []) {
    await sleep(ms, undefined, {signal: ctx.signal})
    await look(missing)
    if (missing.size === 0) break
  }
  const done = answer.results.flatMap((result, at) => (result.ok && !missing.has(ids[at]!) && !times.has(ids[at]!) ? [ids[at]!] : []))
  if (ctx.images && done.length > 0) await look(done)
  const late = {ok: false, sent: true, crm: unanswered({status: 202}), duplicateOf: null} as const
  const timed = (result: RecordAnswer, id: string) => (result.ok ? {...result, modifiedAt: times.get(id) ?? null} : result)
  return {...answer, results: answer.results.map((result, at) => (missing.has(ids[at]!) ? late : timed(result, ids[at]!)))}
}

/**
 * Reads the records under the slot that their batch holds. If each batch waited for another slot, none would come free. A failed read shows no
 * record, because the restore itself was answered.
 */
const readTimes = async ({connection, lease, log}: Context, {module}: CompiledFlow, ids: string[]): Promise<Map<string, CrmRecord>> => {
  const read = (part: {ids: string[]; fields: string[]}) => connection.readRecords({module: module.apiName, ...part}, {signal: lease.lost})
  try {
    return await readInParts({ids, fields: ['Modified_Time']}, read)
  } catch (err) {
    lease.lost.throwIfAborted()
    log.warn({err, records: ids.length}, 'restored records could not be read')
    return new Map()
  }
}
