import {setTimeout as sleep} from 'node:timers/promises'
import type {WriteAnswer, WriteOptions} from '../../../shared/crm/crm.ts'
import {unanswered} from '../../../shared/crm/outcome.ts'
import type {Context} from '../context.ts'
import {readById} from '../match/read-by-id.ts'
import type {CompiledFlow} from '../model.ts'

/** The pauses in ms between reads of records whose restore the CRM only scheduled. */
const pollsMs = [500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000]

/**
 * Takes records out of the recycle bin. If the CRM only schedules it, reads the records until they are there. Those that are not there in
 * time count as unanswered.
 */
export const undelete = async (ctx: Context, flow: CompiledFlow, ids: string[], options: WriteOptions): Promise<WriteAnswer> => {
  const {scheduled, ...answer} = await ctx.connection.restoreRecords!(ids, options)
  const missing = new Set(scheduled)
  for (const ms of missing.size > 0 ? pollsMs : []) {
    await sleep(ms, undefined, {signal: ctx.signal})
    for (const id of (await readById(ctx, flow, {ids: [...missing], fields: ['Modified_Time']})).keys()) missing.delete(id)
    if (missing.size === 0) break
  }
  const late = {ok: false, sent: true, crm: unanswered({status: 202}), duplicateOf: null} as const
  return {...answer, results: answer.results.map((result, at) => (missing.has(ids[at]!) ? late : result))}
}
