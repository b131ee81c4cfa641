import {assertWritable} from '../../shared/connectors/writing.ts'
import type {Share} from '../../shared/crm/budget.ts'
import type {Connection, WriteAnswer} from '../../shared/crm/crm.ts'
import {isCrowded} from '../../shared/crm/error.ts'
import {Refusal} from '../../shared/errors.ts'
import {replaceRows} from '../../shared/jobs.ts'
import type {AdmittedUnit} from '../../shared/writes/admit.ts'
import {type ParentItem, RowsRequest} from '../../shared/writes/rows.ts'
import {isOpenOrg} from '../../sql/orgs.ts'
import {releaseAll} from '../../sql/replacements.ts'
import {findWrite, keepResults, keepUnsent, listResults, type Write} from '../../sql/writes.ts'
import {type Work, worker} from '../worker.ts'
import {finishWrite} from './finish.ts'
import {type Desk, gatherPack, isShutting, type Pack} from './row-pack.ts'
import {judgeParent, unsent} from './row-verdict.ts'
import {type Answered, notAsked, notNow, refusedUnsent, type Sending, sendUnits} from './send.ts'
import {openShare} from './shares.ts'

/** Each reads and writes for up to ten parents, and a call may hang for as long as calls may. */
const atOnce = 4

/** Writes the rows of one request's parents. What became of each stands under the write's id; the job says only that it was tried. */
export default worker(replaceRows, {concurrency: atOnce}, async ({org, write: id}, work) => {
  const write = await findWrite(work.db, {org, id})
  // Tried before, given up, or ended with its org.
  if (!write?.request) return {write: id}
  try {
    await replaceAll(work, write, RowsRequest.parse(write.request))
  } catch (error) {
    if (!(error instanceof Refusal) && !work.signal.aborted) work.log.error({err: error}, 'rows not written')
    await letGo(work, write, error instanceof Refusal ? error : notNow())
  }
  await finishWrite(work, write)
  return {write: id}
})

/** `own`: for the writes, each of which goes under a slot of the share. */
type Task = Desk & {work: Work; slots: Share; own: Connection}

/** Rounds in which no parent came to anything: what it held was read too long ago, or there is room where there was none. */
const mostIdleRounds = 3

/** Throws Refusal for what keeps every parent left from being written. */
const replaceAll = async (work: Work, write: Write, request: RowsRequest) => {
  if (!(await isOpenOrg(work.db, write.org))) throw new Refusal('ORG_CLOSED', 'This org is closed', {written: false})
  const task = await openTask(work, write, request)
  try {
    let left = request.items
    for (let idle = 0; left.length > 0; ) {
      work.signal.throwIfAborted()
      await replacePack(task, left)
      const rest = await withoutResult(task, left)
      idle = rest.length < left.length ? 0 : idle + 1
      if (idle === mostIdleRounds) throw notNow()
      left = rest
    }
  } finally {
    await releaseAll(work.db, {write: write.id}).catch(err => work.log.warn({err}, 'parents left to expire'))
    await task.slots.close()
  }
}

/** A read and a write may each hang for as long as calls may, after waiting for access and in line. */
const holdSecondsOf = ({config}: Work) => 2 * config.CRM_TIMEOUT_SECONDS + 60

const openTask = async (work: Work, write: Write, request: RowsRequest): Promise<Task> => {
  const {db, crm, signal} = work
  const [connection, own] = await Promise.all([crm.open(write.connectorId), crm.open(write.connectorId, {slots: 'own'})])
  return {db, signal, write, request, connection, work, own, slots: openShare(work, own.connector), holdSeconds: holdSecondsOf(work)}
}

/** One request for as many parents as it takes. */
const replacePack = async (task: Task, left: ParentItem[]) => {
  const {db, work, write, request, slots} = task
  await assertWritable(db, {org: write.org, connector: write.connectorId})
  const pack = await gatherPack(task, left)
  await keepResults(db, {write: write.id, results: pack.results})
  let {shut} = pack
  const transmit: Sending['transmit'] = async (units, options) => {
    const sent = await sendPack(task, pack, units, options)
    shut ??= sent.shut
    return sent.answered
  }
  const {childNo: module, flowNo: flow} = request
  await sendUnits(work, {write, module, flow, kind: 'replace', units: pack.units, slots, isLarge: false, transmit})
  if (shut) throw shut
}

/** What was read longer ago may have changed since: it is read again. */
const freshMs = 5_000

type Options = Parameters<Sending['transmit']>[1]
type Sent = {answered: Answered; shut: Refusal | null}

const sendPack = async (task: Task, pack: Pack, units: AdmittedUnit[], options: Options): Promise<Sent> => {
  const leave = () => joined(units.map(({rows}) => unsent(rows)))
  const isFresh = performance.now() - pack.readAt < freshMs && units.every(({at}) => pack.rowIds.has(at))
  if (!isFresh) return {answered: leave(), shut: null}
  const {results, whole} = await ask(task, pack, units, options).catch(error => notAsked(units, error))
  const refused = results.flatMap(answer => (answer.ok || answer.sent ? [] : [answer.refusal]))
  const shut = refused.find(isShutting)
  if (shut) return {answered: leave(), shut}
  if (whole && isCrowded(whole.crm)) await task.slots.cut()
  return {answered: joined(units.map((unit, n) => judgeParent(unit, results[n]!, pack.rowIds.get(unit.at)!.length))), shut: null}
}

/** A write under way when the process is asked to stop is heard to its end. */
const ask = (
  {own, request: {module, field, automations, items}}: Task,
  {rowIds}: Pack,
  units: AdmittedUnit[],
  {signal, mayLeave}: Options,
): Promise<WriteAnswer> => {
  const parents = units.map(({at, parent}) => {
    const adds = items.find(item => item.at === at)!.rows.map(({payload}) => payload)
    return {id: parent!, field, deletes: rowIds.get(at)!, adds}
  })
  return own.replaceRows(module, parents, {automations, mayLeave: () => !signal.aborted && mayLeave()})
}

const joined = (parts: Answered[]): Answered => ({
  ends: parts.flatMap(({ends}) => ends),
  results: parts.flatMap(({results}) => results),
})

const withoutResult = async ({db, write}: Task, parents: ParentItem[]) => {
  const open = new Set((await listResults(db, write.id)).flatMap(({at, result}) => (result === null ? [at] : [])))
  return parents.filter(({at}) => open.has(at))
}

/** What was not sent is said so, and may be sent again at once. What is in flight is settled by the sweep. */
const letGo = ({db}: Work, {id: write}: Write, refusal: Refusal) =>
  db.transaction(tx => keepUnsent(tx, {write, result: refusedUnsent(0, refusal).result}))
