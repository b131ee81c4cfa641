import {isDeepStrictEqual} from 'node:util'
import type {Db, Pool, Tx} from '../../sql/database.ts'
import {listOutsideSends} from '../../sql/outside-ledger.ts'
import type {StandingRun} from '../../sql/outside-runs.ts'
import {dropRequest, findWrite, type Item, keepUnsent, listOpenAts, listResults} from '../../sql/writes.ts'
import {CrmError, type CrmProblem} from '../crm/error.ts'
import {type Code, Refusal} from '../errors.ts'
import {endOutside, lockStanding} from '../runs/outside.ts'
import {logUnsent} from './pending.ts'
import {noAnswer, settleDead} from './settle.ts'

/** One item of a request: written, or not, or nothing is known of it yet (`ok` null). */
export type Result = {rowKey?: string; writeId?: string; ok: boolean | null; [more: string]: unknown}

/** Of refusals before sending: those that are about the request as a whole and not about one item. */
const OF_ALL: Code[] = [
  ...(['RUN_STOPPED', 'RUN_ENDED', 'RUN_USED', 'LEASE_LOST', 'WRITES_PAUSED', 'BUSY', 'UNAVAILABLE'] as const),
  ...(['CONNECTION_NOT_FOUND', 'CONNECTION_THROTTLED', 'CONNECTION_UNAVAILABLE', 'DAILY_ALLOWANCE_SPENT', 'NOT_OFFERED'] as const),
]

/** The request as it stands, and what became of each item, in the order sent. `crm`: one answer of the CRM that was every item's. */
export const readWrite = async (db: Db, {org, id}: {org: string; id: string}) => {
  const found = await findWrite(db, {org, id})
  if (!found) throw new Refusal('NOT_FOUND', 'No such write, or it ended too long ago')
  const results = (await listResults(db, id)).map(describeItem)
  const {runId, kind, createdAt} = found
  const state = results.some(({ok}) => ok === null) ? 'writing' : 'done'
  return {write: {id, runId, kind, state, crm: found.problem?.crm ?? null, createdAt}, results, renews: found.problem?.renews ?? false}
}

const describeItem = ({rowKey, writeId, result}: Item): Result => ({
  ...(rowKey !== null && {rowKey}),
  ...(writeId !== null && {writeId}),
  ...((result as {ok: boolean} | null) ?? {ok: null}),
})

type NamedWrite = {org: string; id: string}

/** Settles the batches of a request that are past their deadline as unanswered. Answers whether every item has a result. */
export const settleOverdue = (db: Pool, named: NamedWrite): Promise<boolean> =>
  db.transaction(async tx => (await settleDeadSends(tx, named)) === null || (await listOpenAts(tx, named.id)).length === 0)

/** The request's time is over: overdue batches are settled, and what was not sent is refused, so that no worker sends it any more. */
export const settleAbandoned = (db: Pool, named: NamedWrite): Promise<void> =>
  db.transaction(async tx => {
    const run = await settleDeadSends(tx, named)
    if (!run) return
    await giveUpUnsent(tx, run, named.id)
    if (run.state === 'closing') await endOutside(tx, run, {outcome: null, pending: 'send'})
  })

/** The request's run, locked; null if the request is gone. */
const settleDeadSends = async (tx: Tx, {org, id}: NamedWrite): Promise<StandingRun | null> => {
  const write = await findWrite(tx, {org, id})
  if (!write) return null
  const run = await lockStanding(tx, org, write.runId)
  for (const send of await listOutsideSends(tx, run.no)) if (send.write === id && send.dead) await settleDead(tx, run, send)
  return run
}

/** Refuses the items that are neither settled nor in flight: no worker sends them any more. The run is locked. */
export const giveUpUnsent = async (tx: Tx, run: StandingRun, id: string): Promise<void> => {
  const ats = await listOpenAts(tx, id)
  await keepUnsent(tx, {write: id, result: unstarted})
  if (run.state === 'closing') await logUnsent(tx, run, {id, ats})
  await dropRequest(tx, id)
}

/** Of an item no worker took. */
const unstarted = {ok: false, code: 'UNAVAILABLE', error: 'No worker was free to send it in time: send it again', written: false}

/**
 * The results of a request whose worker has ended. Throws what was one and the same for all of it: the refusal that kept it from being
 * sent, or the CRM's one answer, with the results beside. What nothing is known of may have been done.
 */
export const answerWrite = async (db: Db, named: {org: string; id: string}): Promise<{results: Result[]}> => {
  const {write, results: known, renews} = await readWrite(db, named)
  const results = known.map(result => (result.ok === null ? {...result, ...unheard} : result))
  const refusal = findRefusal(results)
  if (refusal) throw refusal
  const sent = results.filter(({ok, outcome, crm}) => (ok ? outcome !== 'inherited' : crm !== undefined))
  const problem = (write.crm as CrmProblem | null) ?? (known.some(({ok}) => ok === null) ? noAnswer : null)
  if (problem && sent.every(({crm}) => isDeepStrictEqual(crm, problem))) throw new CrmError(problem, {renews, results})
  return {results}
}

const unheard = {ok: false, error: 'Nothing was heard of it: it may have been written', crm: noAnswer}

const findRefusal = (results: Result[]): Refusal | null => {
  const [{rowKey: _, writeId: __, ok: ___, code, error, ...extra}] = results as [Result]
  const isSame = OF_ALL.includes(code as Code) && results.every(one => one.written === false && one.code === code)
  return isSame ? new Refusal(code as Code, String(error), {...extra, results}) : null
}
