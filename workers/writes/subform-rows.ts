import {assertWritable} from '../../shared/crm/connectors/writing.ts'
import type {Connection, WriteAnswer} from '../../shared/crm/crm.ts'
import {isCrowded} from '../../shared/crm/error.ts'
import type {SlotShare} from '../../shared/crm/limits/budget.ts'
import {Refusal} from '../../shared/errors.ts'
import {replaceRows} from '../../shared/jobs.ts'
import type {AdmittedUnit} from '../../shared/runs/external/admit.ts'
import {type ParentItem, RowsRequest} from '../../shared/runs/external/subform-rows.ts'
import {isOpenOrg} from '../../sql/orgs.ts'
import {releaseAll} from '../../sql/replacements.ts'
import {findRun} from '../../sql/runs.ts'
import {findWrite, keepResults, keepUnsent, listResults, type Write} from '../../sql/writes.ts'
import {openImageStore} from '../engine/images/before-images.ts'
import {listRowFields} from '../engine/subform/row-values.ts'
import {type Work, worker} from '../worker.ts'
import {finishWrite} from './finish.ts'
import {openKeptImages} from './kept-images.ts'
import {gatherPack, isStopping, keepPackImages, type PackContext, type RowPack} from './row-pack.ts'
import {judgeParent, unsentEnds} from './row-verdict.ts'
import {notAsked, notNow, refusedUnsent, type SendInput, type SentUnits, sendUnits} from './send.ts'
import {openShare} from './slot-shares.ts'

/** The number of writes that a process executes concurrently. Each writes the rows of up to ten parents, and each call may hang. */
const atOnce = 4

/**
 * Writes the rows of one request's parents. The results are stored under the write's id. The job's answer only says that the write was tried.
 */
export default worker(replaceRows, {concurrency: atOnce}, async ({org, write: id}, work) => {
  const write = await findWrite(work.db, {org, id})
  // The write was tried before, was given up, or ended with its org.
  if (!write?.request) return {write: id}
  try {
    await replaceAll(work, write, RowsRequest.parse(write.request))
  } catch (error) {
    if (!(error instanceof Refusal) && !work.signal.aborted) work.log.error({err: error}, 'rows not written')
    await releaseParents(work, write, error instanceof Refusal ? error : notNow())
  }
  await finishWrite(work, write)
  return {write: id}
})

/** One write in progress. `own`: the connection for its writes. Each write takes one of `slots`. */
type Task = PackContext & {work: Work; slots: SlotShare; own: Connection}

/**
 * The maximum number of consecutive rounds in which no parent gets a result. In such a round, the rows of the parents were read too long
 * ago, or the row limit had no room.
 */
const mostIdleRounds = 3

/** Replaces the rows of all parents. Throws a Refusal if no further parent can be written. */
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
    await releaseAll(work.db, {write: write.id}).catch(err =>
      work.log.warn({err}, 'could not release reserved parents; the reservations expire'),
    )
    await task.slots.close()
    await task.images?.voidRest()
  }
}

/**
 * Returns how many seconds a parent stays reserved. A read and a write may each hang until their timeout, after waiting for a token and for
 * a slot.
 */
const holdSecondsOf = ({config}: Work) => 2 * config.CRM_TIMEOUT_SECONDS + 60

const openTask = async (work: Work, write: Write, request: RowsRequest): Promise<Task> => {
  const {db, crm, signal} = work
  const [connection, own] = await Promise.all([crm.open(write.connectorId), crm.open(write.connectorId, {slots: 'own'})])
  const run = (await findRun(db, {org: write.org, id: write.runId}))!
  const store = await openImageStore({...work, run})
  const images = store && openKeptImages(work, store)
  const rowFields = images ? await listRowFields(db, {connector: write.connectorId, module: request.child}) : []
  const slots = openShare(work, own.connector)
  return {db, signal, write, run, request, connection, work, own, slots, images, rowFields, holdSeconds: holdSecondsOf(work)}
}

/** Sends one request for as many parents as fit. */
const replacePack = async (task: Task, left: ParentItem[]) => {
  const {db, work, write, request, slots} = task
  await assertWritable(db, {org: write.org, connector: write.connectorId})
  const pack = await gatherPack(task, left)
  await keepResults(db, {write: write.id, results: pack.results})
  await keepPackImages(task, pack)
  let {block} = pack
  const transmit: SendInput['transmit'] = async (units, options) => {
    task.images?.markSent(units)
    const sent = await sendPack(task, pack, units, options)
    block ??= sent.block
    return sent.answered
  }
  const {childNo: module, flowNo: flow} = request
  const beforeSettle = task.images?.voidRefused
  await sendUnits(work, {write, module, flow, kind: 'replace', units: pack.units, slots, isLarge: false, transmit, beforeSettle})
  if (block) throw block
}

/** For how many ms rows that were read may be used. Older rows may have changed and are read again. */
const freshMs = 5_000

type Options = Parameters<SendInput['transmit']>[1]
type PackResult = {answered: SentUnits; block: Refusal | null}

const sendPack = async (task: Task, pack: RowPack, units: AdmittedUnit[], options: Options): Promise<PackResult> => {
  const leave = () => joined(units.map(({rows}) => unsentEnds(rows)))
  const isFresh = performance.now() - pack.readAt < freshMs && units.every(({at}) => pack.held.has(at))
  if (!isFresh) return {answered: leave(), block: null}
  const {results, whole} = await ask(task, pack, units, options).catch(error => notAsked(units, error))
  const refused = results.flatMap(answer => (answer.ok || answer.sent ? [] : [answer.refusal]))
  const block = refused.find(isStopping)
  if (block) return {answered: leave(), block}
  if (whole && isCrowded(whole.crm)) await task.slots.cut()
  return {answered: joined(units.map((unit, n) => judgeParent(unit, results[n]!, pack.held.get(unit.at)!.length))), block: null}
}

/** Sends the request to the CRM. If the process is asked to stop, sends no further request, but waits for the answer to a sent one. */
const ask = (
  {own, request: {module, field, automations, items}}: Task,
  {held}: RowPack,
  units: AdmittedUnit[],
  {signal, mayLeave}: Options,
): Promise<WriteAnswer> => {
  const parents = units.map(({at, parent}) => {
    const adds = items.find(item => item.at === at)!.rows.map(({payload}) => payload)
    return {id: parent!, field, deletes: held.get(at)!.map(({id}) => id), adds}
  })
  return own.replaceRows(module, parents, {automations, mayLeave: () => !signal.aborted && mayLeave()})
}

const joined = (parts: SentUnits[]): SentUnits => ({
  ends: parts.flatMap(({ends}) => ends),
  results: parts.flatMap(({results}) => results),
})

const withoutResult = async ({db, write}: Task, parents: ParentItem[]) => {
  const open = new Set((await listResults(db, write.id)).flatMap(({at, result}) => (result === null ? [at] : [])))
  return parents.filter(({at}) => open.has(at))
}

/** Stores the refusal as the result of unsent items, which the client may send again immediately. The sweep settles the items in flight later. */
const releaseParents = ({db}: Work, {id: write}: Write, refusal: Refusal) =>
  db.transaction(tx => keepUnsent(tx, {write, result: refusedUnsent(0, refusal).result}))
