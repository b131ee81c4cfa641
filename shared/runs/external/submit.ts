import {createHash} from 'node:crypto'
import type {Tx} from '../../../sql/database.ts'
import type {ExternalRun} from '../../../sql/external-runs.ts'
import {insertItems, insertWrite, listNamedItems, type WriteKind} from '../../../sql/writes.ts'
import {assertWritable} from '../../crm/connectors/writing.ts'
import {Refusal} from '../../errors.ts'
import {newId} from '../../ids.ts'
import type {replaceRows, writeRecords} from '../../jobs.ts'
import {enqueue, type Queue} from '../../queue.ts'
import {assertModulesEnabled} from '../admit-modules.ts'
import {lockOwnExternalRun, openLockedRun, type RunCaller} from './run.ts'

/** `body`: everything that identifies the item's content. `rowKey`: the key in the item's result. */
type SubmittedItem = {rowKey?: string; writeId: string | null; body: unknown}

type SubmitWriteInput = {
  asker: RunCaller
  runId: string
  connector: string
  /** API name of the module whose records are written. For subform rows: the module of their parents. */
  module: string
  kind: Extract<WriteKind, 'create' | 'update' | 'replace'>
  items: SubmittedItem[]
  /** Builds the worker's request for the items to write, given by their indexes. */
  requestOf(ats: number[], run: ExternalRun, tx: Tx): object | Promise<object>
}

/** `job`: null if every item already has a result. */
export type Submission = {write: string; job: string | null}

/**
 * Stores a write and enqueues its job, in the transaction that checks the run. An item whose `writeId` this run has seen with the same body
 * gets the stored result. Refuses the whole request if the body differs or the earlier item has no result yet.
 */
export const submitWrite = async (
  tx: Tx,
  {queue, job}: {queue: Queue; job: typeof writeRecords | typeof replaceRows},
  {asker, runId, connector, module, kind, items, requestOf}: SubmitWriteInput,
): Promise<Submission> => {
  const run = await lockOwnExternalRun(tx, asker, {runId, connector})
  const digests = items.map(({writeId, body}) => (writeId === null ? null : digestOf({kind, body})))
  const known = await findKnownResults(tx, {run: run.no, items, digests})
  const write = newId('wrt')
  const fresh = [...items.keys()].filter(at => !known.has(at))
  const request = fresh.length === 0 ? null : await openForWrite(tx, run, {connector, module}, () => requestOf(fresh, run, tx))
  await insertWrite(tx, {id: write, org: asker.org, run: run.no, connector, kind, request})
  const kept = items.map(({rowKey = null, writeId}, at) =>
    known.has(at)
      ? {at, rowKey, writeId, freed: true, digest: null, result: known.get(at)}
      : {at, rowKey, writeId, freed: false, digest: digests[at]!, result: null},
  )
  await insertItems(tx, {write, run: run.no, items: kept})
  return {write, job: fresh.length === 0 ? null : await enqueue(queue, job, {org: asker.org, write}, {tx})}
}

/**
 * Opens the run for a write and builds the worker's request. Called only if there are items to write, so that stored results can be read
 * after the run has ended.
 */
const openForWrite = async (
  tx: Tx,
  run: ExternalRun,
  {connector, module}: {connector: string; module: string},
  request: () => object | Promise<object>,
) => {
  await assertModulesEnabled(tx, {org: run.org, connector, modules: [module]})
  await openLockedRun(tx, run, {connector})
  await assertWritable(tx, {org: run.org, connector})
  return request()
}

type FindKnownInput = {run: number; items: SubmittedItem[]; digests: (Buffer | null)[]}

/**
 * Returns the stored results of items that were sent before, by the items' indexes. Throws WRITE_ID_REUSED if the body differs, and
 * WRITE_UNDER_WAY if there is no result yet.
 */
export const findKnownResults = async (tx: Tx, {run, items, digests}: FindKnownInput): Promise<Map<number, unknown>> => {
  const names = items.flatMap(({writeId}) => writeId ?? [])
  const before = new Map((await listNamedItems(tx, {run, names})).map(item => [item.writeId, item]))
  const known = new Map<number, unknown>()
  for (const [at, {writeId}] of items.entries()) {
    const item = writeId === null ? undefined : before.get(writeId)
    if (!item) continue
    if (!item.digest.equals(digests[at]!))
      throw new Refusal('WRITE_ID_REUSED', `writeId ${writeId} was used in this run with another body. Give this item its own writeId`, {
        writeId,
        written: false,
      })
    if (item.result === null)
      throw new Refusal('WRITE_UNDER_WAY', `The item with writeId ${writeId} is still being written. Send it again in a few seconds`, {
        writeId,
        retryAfterMs: 2_000,
      })
    known.set(at, item.result)
  }
  return known
}

/** The order of keys does not change the digest. */
export const digestOf = (body: unknown) =>
  createHash('sha256')
    .update(JSON.stringify(withSortedKeys(body)))
    .digest()

const withSortedKeys = (json: unknown): unknown => {
  if (Array.isArray(json)) return json.map(withSortedKeys)
  if (typeof json !== 'object' || json === null) return json
  return Object.entries(json)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, value]) => [key, withSortedKeys(value)])
}
