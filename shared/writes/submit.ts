import {createHash} from 'node:crypto'
import type {Tx} from '../../sql/database.ts'
import type {StandingRun} from '../../sql/outside-runs.ts'
import {insertItems, insertWrite, listNamedItems, type WriteKind} from '../../sql/writes.ts'
import {assertWritable} from '../connectors/writing.ts'
import {Refusal} from '../errors.ts'
import {newId} from '../ids.ts'
import type {replaceRows, writeRecords} from '../jobs.ts'
import {enqueue, type Queue} from '../queue.ts'
import {type Asker, lockOwn, openRun} from '../runs/outside.ts'

/** One item as its asker sent it. `body`: all that makes it this item and no other. `rowKey`: what its result calls it by. */
type SubmittedItem = {rowKey?: string; writeId: string | null; body: unknown}

type Submitted = {
  asker: Asker
  runId: string
  connector: string
  kind: Extract<WriteKind, 'create' | 'update' | 'replace'>
  items: SubmittedItem[]
  /** What the worker is handed of the items that are to be written, by their places in the request. */
  requestOf(ats: number[], run: StandingRun, tx: Tx): object | Promise<object>
}

/** `job` is null where every item was done before: then there is nothing to wait for. */
export type Submission = {write: string; job: string | null}

/**
 * Keeps what is to be written and enqueues it, in the transaction that opens the run to it. An item whose `writeId` this run has seen
 * with the same body is answered from what became of it; with another body the whole request is refused.
 */
export const submitWrite = async (
  tx: Tx,
  {queue, job}: {queue: Queue; job: typeof writeRecords | typeof replaceRows},
  {asker, runId, connector, kind, items, requestOf}: Submitted,
): Promise<Submission> => {
  const run = await lockOwn(tx, asker, {runId, connector})
  const digests = items.map(({writeId, body}) => (writeId === null ? null : digestOf({kind, body})))
  const known = await findKnown(tx, {run: run.no, items, digests})
  const write = newId('wrt')
  const fresh = [...items.keys()].filter(at => !known.has(at))
  const request = fresh.length === 0 ? null : await open(tx, run, connector, () => requestOf(fresh, run, tx))
  await insertWrite(tx, {id: write, org: asker.org, run: run.no, connector, kind, request})
  const kept = items.map(({rowKey = null, writeId}, at) =>
    known.has(at)
      ? {at, rowKey, writeId, freed: true, digest: null, result: known.get(at)}
      : {at, rowKey, writeId, freed: false, digest: digests[at]!, result: null},
  )
  await insertItems(tx, {write, run: run.no, items: kept})
  return {write, job: fresh.length === 0 ? null : await enqueue(queue, job, {org: asker.org, write}, {tx})}
}

/** Only what is to be written asks whether it may: an answer that was lost on its way is there also once the run has ended. */
const open = async (tx: Tx, run: StandingRun, connector: string, request: () => object | Promise<object>) => {
  await openRun(tx, run, {connector})
  await assertWritable(tx, {org: run.org, connector})
  return request()
}

type Asked = {run: number; items: SubmittedItem[]; digests: (Buffer | null)[]}

/** What became of items that were sent before, by their places. */
export const findKnown = async (tx: Tx, {run, items, digests}: Asked): Promise<Map<number, unknown>> => {
  const names = items.flatMap(({writeId}) => writeId ?? [])
  const before = new Map((await listNamedItems(tx, {run, names})).map(item => [item.writeId, item]))
  const known = new Map<number, unknown>()
  for (const [at, {writeId}] of items.entries()) {
    const item = writeId === null ? undefined : before.get(writeId)
    if (!item) continue
    if (!item.digest.equals(digests[at]!))
      throw new Refusal('WRITE_ID_REUSED', `writeId ${writeId} was used in this run for something else: give this one a name of its own`, {
        writeId,
        written: false,
      })
    if (item.result === null)
      throw new Refusal('WRITE_UNDER_WAY', `What was sent as writeId ${writeId} is still being written: ask again`, {
        writeId,
        retryAfterMs: 2_000,
      })
    known.set(at, item.result)
  }
  return known
}

/** Equal for equal JSON, whatever the order of its keys. */
export const digestOf = (body: unknown) =>
  createHash('sha256')
    .update(JSON.stringify(sorted(body)))
    .digest()

const sorted = (json: unknown): unknown => {
  if (Array.isArray(json)) return json.map(sorted)
  if (typeof json !== 'object' || json === null) return json
  return Object.entries(json)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, value]) => [key, sorted(value)])
}
