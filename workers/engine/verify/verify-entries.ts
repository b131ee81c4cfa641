import {mapAhead} from '../../../shared/concurrency/map-ahead.ts'
import {atPoint} from '../../../shared/fault-point.ts'
import type {RunSeal} from '../../../shared/runs/run-seal.ts'
import {valuesVerified} from '../../../shared/telemetry/metrics/rows.ts'
import {isFateUnknown, isPassing, type Tx} from '../../../sql/database.ts'
import {VERIFY_LIST} from '../../../sql/segments.ts'
import {deleteVerified, listQueued, type QueueEntry} from '../../../sql/verify-queue.ts'
import {commitVerified, type VerifiedRows} from '../../../sql/verify-results.ts'
import type {Context} from '../context.ts'
import {LeaseLost, RunPaused} from '../run-endings.ts'
import {storeSegment} from '../segment-writer.ts'
import {type Findings, type FlowOf, judgeRows} from './judge-rows.ts'
import {openEntries, readRowsBack} from './read-rows-back.ts'

/** Maximum rows, and bytes of their packed values, per part. */
const [rowsAtOnce, bytesAtOnce] = [1_000, 1_400_000]
/** The parts that are read ahead while one is committed. Together with the size of a part, this number bounds the memory. */
const partsAhead = 2

export type VerifyContext = {ctx: Context; flowOf: FlowOf; seal: RunSeal}

type DuePart = Awaited<ReturnType<typeof listQueued>>

/** Reads due rows back in parts and commits the findings in queue order. Returns whether any entry was verified. */
export const verifyDueEntries = async (of: VerifyContext): Promise<boolean> => {
  const read = async (due: DuePart) => ({due, ...(await readRowsBack(of, openEntries(due, of.seal)))})
  let isVerified = false
  for await (const {due, judged, read: rows} of mapAhead(listDueParts(of.ctx), {count: partsAhead}, read)) {
    if (judged.length === 0) continue
    const findings = judgeRows(of.flowOf, of.ctx.connection.connector.crmUserId, rows)
    atPoint('before_verified')
    await commit(of, judged, {findings, readAt: due[0]!.readAt})
    atPoint('after_verified')
    await deleteVerified(of.ctx.db, of.ctx.run.no)
    isVerified = true
  }
  return isVerified
}

/** Yields parts of due entries, oldest first. Stops after a part under half size, so that later rows collect until they fill whole calls. */
async function* listDueParts({db, run, config}: Context): AsyncGenerator<DuePart> {
  const size = {run: run.no, seconds: config.VERIFY_AFTER_SECONDS, rows: rowsAtOnce, bytes: bytesAtOnce}
  for (let due = await listQueued(db, {...size, after: null}); due.length > 0; ) {
    yield due
    if (due.at(-1)!.rowsUpTo < rowsAtOnce / 2) return
    due = await listQueued(db, {...size, after: due.at(-1)!})
  }
}

type CommitInput = {findings: Findings; readAt: string}

/** Commits the findings, but not a second time if the answer to the first commit was lost. Stores values that differ in an object of storage. */
const commit = async ({ctx, seal}: VerifyContext, entries: readonly QueueEntry[], {findings, readAt}: CommitInput) => {
  const {run, lease, config} = ctx
  const {fields, rows, marks, differences} = findings
  const since = performance.now()
  const verified = {run: run.no, fence: lease.fence, leaseSeconds: config.LEASE_SECONDS, entries, fields, rows, marks, readAt}
  const within = (tx: Tx) => commitOnce(ctx, tx, verified)
  if (differences.length === 0) await commitPlain(ctx, within)
  else {
    const options = {list: VERIFY_LIST, what: 'values that were read back', nameObject: nameObject, seal: seal.seal}
    await storeSegment(ctx, options, differences, within)
  }
  lease.renewedSince(since)
  valuesVerified(fields)
}

const nameObject = (id: string) => `verify-${id}.ndjson.gz.sealed`

const commitOnce = async ({lease}: Context, tx: Tx, verified: VerifiedRows): Promise<boolean> => {
  const {done, isOwner, held} = await commitVerified(tx, verified)
  // An earlier attempt was committed, but its answer was lost.
  if (done === 0) return false
  if (!isOwner) throw new LeaseLost('Another owner took the run')
  lease.noteHeld(held)
  return true
}

const tries = 5

const commitPlain = async ({db, log}: Context, within: (tx: Tx) => Promise<boolean>) => {
  for (let tried = 1; ; tried++) {
    try {
      await db.transaction(within)
      return
    } catch (error) {
      if (!isFateUnknown(error) && !isPassing(error)) throw error
      log.warn({err: error}, 'retrying the commit of a verification')
      if (tried === tries)
        throw new RunPaused('UNAVAILABLE', 'The database cannot be reached at the moment. The run resumes automatically', 5)
    }
  }
}
