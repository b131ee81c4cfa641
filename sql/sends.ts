import {z} from 'zod'
import {type Db, type Hot, prepare, sql} from './database.ts'

/** Whether the batch is in flight. If the database's answer to an intent was lost, this shows whether the intent was committed. */
export const findSend = async (hot: Hot, {run, batch}: {run: number; batch: number}) =>
  (await findSendStatement(hot, [run, batch])).length === 1

const findSendStatement = prepare('find-send', 'select 1 from sends where run_no = $1::bigint and batch_no = $2::bigint')

/**
 * Moves the deadline of batches whose request waited for its slot, or is repeated after the CRM asked to wait. Returns false if this owner has
 * lost the run, the connection may not be written through, or a deadline has passed. After a deadline, other runs assume that the CRM does not
 * execute the batch any more.
 */
export const moveDeadline = async (
  hot: Hot,
  {run, batches, fence, answerSeconds}: {run: number; batches: number[]; fence: number; answerSeconds: number},
) => (await moveDeadlineStatement(hot, [run, batches, fence, answerSeconds])).length === batches.length

const moveDeadlineStatement = prepare(
  'move-deadline',
  `update sends set deadline_at = lading_now() + make_interval(secs => $4::float8)
   where run_no = $1::bigint and batch_no = any($2::bigint[]) and fence = $3::bigint and deadline_at > lading_now() and run_standing($1) = 'open' returning 1`,
)

/** Marks batches as answered, so that other runs no longer wait for them. The caller has claimed the records that these batches created. */
export const markAnswered = (hot: Hot, {run, batches}: {run: number; batches: number[]}) => markAnsweredStatement(hot, [run, batches])

const markAnsweredStatement = prepare(
  'mark-answered',
  'update sends set answered = true where run_no = $1::bigint and batch_no = any($2::bigint[])',
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
  hasUniqueKeys: z.array(z.boolean()),
  digests: z.array(z.instanceof(Buffer).nullable()).nullable(),
  /** Null: the release before stored the intent, or an external engine sends the rows. */
  marks: z.array(z.instanceof(Buffer).nullable()).nullable(),
  bulkJob: z.number().nullable(),
  /** Whether the CRM may have received the request for the bulk job. Null: the batch is one call. */
  isBulkSent: z.boolean().nullable(),
})

export const listSends = (db: Db, run: number) =>
  db.any(sql.type(OpenSend)`
    select batch_no as batch, flow_no as flow, module_no as module, kind, row_keys as keys, row_numbers as numbers, attempts, targets, witness as "hasUniqueKeys",
      digests, marks, bulk_job as "bulkJob",
      (select j.sent_at is not null from bulk_jobs j where j.run_no = sends.run_no and j.job_no = sends.bulk_job) as "isBulkSent"
    from sends where run_no = ${run} order by batch_no`)
