import {isDeepStrictEqual} from 'node:util'
import type {Db, Pool, Tx} from '../../../sql/database.ts'
import {listExternalSends} from '../../../sql/external-ledger.ts'
import type {ExternalRun} from '../../../sql/external-runs.ts'
import {findWrite, type Item, keepUnsent, listOpenAts, listResults} from '../../../sql/writes.ts'
import {CrmError, type CrmProblem, noAnswer} from '../../crm/error.ts'
import {type Code, Refusal} from '../../errors.ts'
import {endRequest} from './pending.ts'
import {endExternalRun, lockExternalRun} from './run.ts'
import {settleAbandonedSend} from './settle.ts'

/** `ok`: null while the outcome is unknown. */
export type Result = {rowKey?: string; writeId?: string; ok: boolean | null; [more: string]: unknown}

/** Codes of refusals before a batch is sent. Such a refusal concerns the whole request, not one item. */
const OF_ALL: Code[] = [
  ...(['RUN_STOPPED', 'RUN_ENDED', 'RUN_USED', 'LEASE_LOST', 'WRITES_PAUSED', 'BUSY', 'UNAVAILABLE'] as const),
  ...(['CONNECTION_NOT_FOUND', 'CONNECTION_THROTTLED', 'CONNECTION_UNAVAILABLE', 'DAILY_ALLOWANCE_SPENT', 'NOT_OFFERED'] as const),
]

/**
 * Reads a write and the results of its items, in the order in which the client sent the items. `crm`: the CRM error that all sent items share,
 * else null.
 */
export const readWrite = async (db: Db, {org, id}: {org: string; id: string}) => {
  // A settlement stores the results and the CRM error together. Read in this order, complete results never lack their error.
  const results = (await listResults(db, id)).map(describeItem)
  const found = await findWrite(db, {org, id})
  if (!found) throw new Refusal('NOT_FOUND', 'No such write, or it ended too long ago')
  const {runId, kind, createdAt} = found
  const state = results.some(({ok}) => ok === null) ? 'writing' : 'done'
  const {crm: problem = null, ...how} = found.problem ?? {}
  const crm = problem && isOfAll(results, problem) ? problem : null
  return {write: {id, runId, kind, state, crm, createdAt}, results, how}
}

const describeItem = ({rowKey, writeId, result}: Item): Result => ({
  ...(rowKey !== null && {rowKey}),
  ...(writeId !== null && {writeId}),
  ...((result as {ok: boolean} | null) ?? {ok: null}),
})

type NamedWrite = {org: string; id: string}

/** Settles the request's overdue batches as unanswered. Returns whether every item has a result; true if the request was deleted. */
export const settleOverdue = (db: Pool, named: NamedWrite): Promise<boolean> =>
  db.transaction(async tx => (await settleDeadSends(tx, named)) === null || (await listOpenAts(tx, named.id)).length === 0)

/**
 * Ends a request whose time limit has passed. Settles overdue batches, and refuses unsent items so that no worker sends them later. Ends
 * the run too if it is closing.
 */
export const settleAbandoned = (db: Pool, named: NamedWrite): Promise<void> =>
  db.transaction(async tx => {
    const run = await settleDeadSends(tx, named)
    if (!run) return
    await giveUpUnsent(tx, run, named.id)
    if (run.state === 'closing') await endExternalRun(tx, run, {outcome: null, pending: 'send'})
  })

/** Returns the request's run, locked, or null if the request was deleted. */
const settleDeadSends = async (tx: Tx, {org, id}: NamedWrite): Promise<ExternalRun | null> => {
  const write = await findWrite(tx, {org, id})
  if (!write) return null
  const run = await lockExternalRun(tx, org, write.runId)
  for (const send of await listExternalSends(tx, run.no)) if (send.write === id && send.dead) await settleAbandonedSend(tx, run, send)
  return run
}

/** Refuses the items that are neither settled nor in flight, so that no worker sends them later. The caller must have locked the run. */
export const giveUpUnsent = async (tx: Tx, run: ExternalRun, id: string): Promise<void> => {
  await keepUnsent(tx, {write: id, result: unstarted})
  await endRequest(tx, run, id)
}

const unstarted = {
  ok: false,
  code: 'UNAVAILABLE',
  error: 'No worker was free to send this item in time. Send it again',
  retryAfterMs: 2_000,
  written: false,
}

/**
 * Returns the results of a request whose job has ended. If every item has the same refusal of `OF_ALL`, or every sent item has the same CRM error,
 * throws that error with the results in its body. An item without a result is reported as possibly written.
 */
export const answerWrite = async (db: Db, named: {org: string; id: string}): Promise<{results: Result[]}> => {
  const {write, results: known, how} = await readWrite(db, named)
  const results = known.map(result => (result.ok === null ? {...result, ...unheard} : result))
  const refusal = findRefusal(results)
  if (refusal) throw refusal
  const problem = (write.crm as CrmProblem | null) ?? (known.some(({ok}) => ok === null) ? noAnswer : null)
  if (problem && isOfAll(results, problem)) throw new CrmError(problem, {...how, results})
  return {results}
}

/** Whether every sent item has this error. */
const isOfAll = (results: Result[], problem: object): boolean =>
  results
    .filter(({ok, outcome, crm}) => (ok ? outcome !== 'inherited' && outcome !== 'skipped' : crm !== undefined))
    .every(({crm}) => isDeepStrictEqual(crm, problem))

const unheard = {ok: false, error: 'The CRM sent no answer, so this may have been written', crm: noAnswer}

const findRefusal = (results: Result[]): Refusal | null => {
  const [{rowKey: _, writeId: __, ok: ___, code, error, ...extra}] = results as [Result]
  const isSame = OF_ALL.includes(code as Code) && results.every(one => one.written === false && one.code === code)
  return isSame ? new Refusal(code as Code, String(error), {...extra, results}) : null
}
