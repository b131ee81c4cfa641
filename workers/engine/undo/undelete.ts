import {setTimeout as sleep} from 'node:timers/promises'
import type {RecordAnswer, WriteAnswer, WriteOptions} from '../../../shared/crm/crm.ts'
import type {Slots} from '../../../shared/crm/limits/slots.ts'
import {unanswered} from '../../../shared/crm/outcome.ts'
import type {Context} from '../context.ts'
import {readByIdUnlessRefused} from '../match/read-by-id.ts'
import type {CompiledFlow} from '../model.ts'

/** The pauses in ms between reads of records whose restore the CRM only scheduled. */
const pollsMs = [500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000]

/** The slot that the batch holds during these reads. If each batch waited for another slot, none would come free. */
const heldSlot: Slots = {take: async () => {}, give() {}}

/**
 * Takes records out of the recycle bin. If the CRM only schedules the restore, reads the records for up to a minute, until it shows them.
 * Records that it does not show in time get an unanswered result. The results contain the `Modified_Time` of returned records, if it was
 * read. An error of a read after the restore is only logged: if it were thrown, the restored records would count as not sent.
 */
export const undelete = async (ctx: Context, flow: CompiledFlow, ids: string[], options: WriteOptions): Promise<WriteAnswer> => {
  const {scheduled, ...answer} = await ctx.connection.restoreRecords!(ids, options)
  const missing = new Set(scheduled)
  const times = new Map<string, string>()
  const look = async (some: Iterable<string>) => {
    const records = await readByIdUnlessRefused(ctx, flow, {ids: [...some], fields: ['Modified_Time']}, heldSlot)
    for (const [id, {Modified_Time: time}] of records ?? []) {
      missing.delete(id)
      times.set(id, String(time))
    }
  }
  try {
    for (const ms of missing.size > 0 ? pollsMs : []) {
      await sleep(ms, undefined, {signal: ctx.signal})
      await look(missing)
      if (missing.size === 0) break
    }
    const done = answer.results.flatMap((result, at) => (result.ok && !missing.has(ids[at]!) && !times.has(ids[at]!) ? [ids[at]!] : []))
    if (ctx.images && done.length > 0) await look(done)
  } catch (err) {
    ctx.log.warn({err}, 'could not read restored records')
  }
  const late = {ok: false, sent: true, crm: unanswered({status: 202}), duplicateOf: null} as const
  const timed = (result: RecordAnswer, id: string) => (result.ok ? {...result, modifiedAt: times.get(id) ?? null} : result)
  return {...answer, results: answer.results.map((result, at) => (missing.has(ids[at]!) ? late : timed(result, ids[at]!)))}
}
