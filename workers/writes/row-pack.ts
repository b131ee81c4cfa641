import {type Connection, CrmError} from '../../shared/crm/crm.ts'
import {type CrmProblem, sayProblem} from '../../shared/crm/error.ts'
import {elementsAtOnce} from '../../shared/crm/subforms.ts'
import {Refusal} from '../../shared/errors.ts'
import type {Unit} from '../../shared/writes/admit.ts'
import type {ParentItem, RowsRequest} from '../../shared/writes/rows.ts'
import type {Pool} from '../../sql/database.ts'
import {holdParents} from '../../sql/replacements.ts'
import {findHead, listFreshKeys} from '../../sql/run-heads.ts'
import type {ItemResult, Write} from '../../sql/writes.ts'
import {notSent, refusedUnsent, soonMs, underWay} from './send.ts'

export type Desk = {
  db: Pool
  signal: AbortSignal
  write: Write
  request: RowsRequest
  /** Reads through it take slots as everybody's do. */
  connection: Connection
  /** How long a parent is this request's alone: to be read, to wait in line, to be written and settled. */
  holdSeconds: number
}

/** Parents that go out in one request. `rowIds`: of each, by its place, the rows it holds. `readAt`: when the last of them was read. */
export type Pack = {
  units: Unit[]
  rowIds: Map<number, string[]>
  readAt: number
  /** Parents that are done without being sent. */
  results: ItemResult[]
  /** What keeps the first parent left, and every other, from being asked about. */
  shut: Refusal | null
}

/** They keep a whole connection from being reached, not this one call. */
const shutting: string[] = ['CONNECTION_THROTTLED', 'CONNECTION_UNAVAILABLE', 'CONNECTION_NOT_FOUND', 'WRITES_PAUSED', 'NOT_OFFERED']
export const isShutting = ({code}: Refusal) => shutting.includes(code)

/** Reading goes on no longer than this before what was read is written. */
const readForMs = 2_000

/**
 * Reads what the parents hold, in order, as far as one request takes them and the run's limit seems to leave room. Where it leaves none
 * for the first, they are handed on unread: admission says what becomes of them.
 */
export const gatherPack = async (desk: Desk, parents: ParentItem[]): Promise<Pack> => {
  const pack: Pack = {units: [], rowIds: new Map(), readAt: performance.now(), results: [], shut: null}
  const until = performance.now() + readForMs
  let room = await readRoom(desk)
  let elements = 0
  for (const parent of parents) {
    const isFirst = pack.units.length === 0
    if (!isFirst && performance.now() > until) break
    const fresh = await countFresh(desk, parent)
    if (room === null || fresh > room) return isFirst && pack.results.length === 0 ? {...pack, units: parents.map(unitOf)} : pack
    const read = (await hold(desk, parent)) ?? (await readParent(desk, parent, fresh))
    if (read instanceof Refusal) return isFirst ? {...pack, shut: read} : pack
    if (!Array.isArray(read)) {
      pack.results.push(read)
      continue
    }
    elements += read.length + parent.rows.length
    if (elements > elementsAtOnce) break
    room -= fresh
    pack.units.push(unitOf(parent))
    pack.rowIds.set(parent.at, read)
    pack.readAt = performance.now()
  }
  return pack
}

/** Before it is read, so that what is read is what is there as it is written. Null where the parent is ours. */
const hold = async ({db, write, connection, holdSeconds}: Desk, {at, parentId}: ParentItem): Promise<ItemResult | null> => {
  const [held] = await holdParents(db, connection.connector, {holder: {write: write.id}, parents: [parentId], seconds: holdSeconds})
  return held!.isHeld ? null : underWay(at, Math.ceil(held!.leftMs ?? soonMs))
}

/** Null where the run has stopped. */
const readRoom = async ({db, write}: Desk) => {
  const head = (await findHead(db, write.runNo))!
  return head.stop ? null : head.rowsLimit - head.counted
}

const countFresh = async ({db, write, request}: Desk, {rows}: ParentItem) =>
  (await listFreshKeys(db, {run: write.runNo, module: request.childNo, keys: rows.map(({rowKey}) => rowKey)})).length

const unitOf = ({at, parentId, rows}: ParentItem): Unit => ({
  at,
  parent: parentId,
  rows: rows.map(({rowKey, rowNumber = null}) => ({key: rowKey, number: rowNumber, target: parentId, witness: false})),
})

/**
 * The rows to be removed, or why nothing can be sent. A parent this run made holds none, unless rows of it were sent before: then they
 * may be there.
 */
const readParent = async (desk: Desk, parent: ParentItem, fresh: number): Promise<string[] | ItemResult | Refusal> => {
  const {at, parentId, made, rows} = parent
  if (made && fresh === rows.length) return []
  try {
    const ids = await readIds(desk, parentId)
    if (!ids) return notSent(at, noParent)
    return ids.length + rows.length > elementsAtOnce ? notSent(at, tooMany(ids.length, rows.length)) : ids
  } catch (error) {
    if (error instanceof CrmError) return {at, result: unread(error), again: true}
    if (!(error instanceof Refusal)) throw error
    return isShutting(error) ? error : refusedUnsent(at, error)
  }
}

const readIds = async ({connection, request: {module, field, child}, signal}: Desk, id: string) =>
  connection.isRecordId(id) ? connection.readRowIds(module, id, {field, child}, {signal}) : null

const unread = ({crm}: CrmError) => ({ok: false, written: false, crm, error: sayUnread(crm)})

export const sayUnread = (crm: CrmProblem) => `The rows it holds could not be read, so nothing was written. ${sayProblem(crm)}`

export const noParent = {code: 'NOT_FOUND', error: 'The CRM has no such parent: nothing was written'}

/** The CRM's limit on one request, told of one parent. */
export const tooMany = (goes: number, comes: number) => ({
  code: 'BATCH_SIZE',
  error: `The CRM takes ${elementsAtOnce} rows in one request, those to be removed among them, and of this parent ${goes} or more would go and ${comes} come. Nothing was written: remove rows of it at the CRM first`,
})
