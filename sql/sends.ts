import {z} from 'zod'
import {type Db, type Hot, prepare, sql} from './database.ts'

/** After a lost answer to T1: was the batch kept? */
export const findSend = async (hot: Hot, {run, batch}: {run: number; batch: number}) =>
  (await findSendStatement(hot, [run, batch])).length === 1

const findSendStatement = prepare('find-send', 'select 1 from sends where run_no = $1::bigint and batch_no = $2::bigint')

/** The same attempt goes again after the CRM asked us to wait: its deadline moves, nothing else does. False where the gate of T1 is shut by now. */
export const moveDeadline = async (
  hot: Hot,
  {run, batch, fence, answerSeconds}: {run: number; batch: number; fence: number; answerSeconds: number},
) => (await moveDeadlineStatement(hot, [run, batch, fence, answerSeconds])).length === 1

const moveDeadlineStatement = prepare(
  'move-deadline',
  `update sends set deadline_at = lading_now() + make_interval(secs => $4::float8)
   where run_no = $1::bigint and batch_no = $2::bigint and fence = $3::bigint and run_standing($1) = 'open' returning 1`,
)

const OpenSend = z.object({
  batch: z.number(),
  flow: z.number(),
  module: z.number(),
  kind: z.number(),
  keys: z.array(z.string()),
  numbers: z.array(z.number()),
  attempts: z.array(z.number()),
  targets: z.array(z.string().nullable()),
  witness: z.array(z.boolean()),
  digests: z.array(z.instanceof(Buffer).nullable()).nullable(),
})

/** What a dead owner left in flight. */
export const listSends = (db: Db, run: number) =>
  db.any(sql.type(OpenSend)`
    select batch_no as batch, flow_no as flow, module_no as module, kind, row_keys as keys, row_numbers as numbers, attempts, targets, witness,
      digests
    from sends where run_no = ${run} order by batch_no`)
