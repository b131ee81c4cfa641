import {type Connection, CrmError, type CrmRecord} from '../../shared/crm/crm.ts'
import {elementsAtOnce} from '../../shared/crm/subforms.ts'
import {Refusal} from '../../shared/errors.ts'
import type {AdmissionUnit} from '../../shared/runs/external/admit.ts'
import type {ParentItem, RowsRequest} from '../../shared/runs/external/subform-rows.ts'
import type {BeforeImage} from '../../shared/runs/undo/before-image.ts'
import type {Pool} from '../../sql/database.ts'
import {holdParents} from '../../sql/replacements.ts'
import {findHead, listFreshKeys} from '../../sql/run-heads.ts'
import type {Run} from '../../sql/runs.ts'
import type {ItemResult, Write} from '../../sql/writes.ts'
import type {ComparedField} from '../engine/match/compare-values.ts'
import {valuesOfRows} from '../engine/subform/row-values.ts'
import type {KeptImages} from './kept-images.ts'
import {notSent, refusedUnsent, soonMs, underWay} from './send.ts'
import {findNextAttempts} from './undo-values.ts'

export type PackContext = {
  db: Pool
  signal: AbortSignal
  write: Write
  run: Run
  request: RowsRequest
  /** The connection for reads. Each read takes a slot of the ad-hoc limiter. */
  connection: Connection
  /** Stores the rows that are replaced. Null: the run stores none. */
  images: KeptImages | null
  /** The fields of subform rows that before images store. Empty if `images` is null. */
  rowFields: ComparedField[]
  /** The seconds for which a parent is reserved for this request: to be read, queued, written and settled. */
  holdSeconds: number
}

/**
 * The parents of one request to the CRM. `held`: the present rows of each parent, by the parent's `at`. `readAt`: when the last parent was
 * read, in monotonic ms.
 */
export type RowPack = {
  units: AdmissionUnit[]
  held: Map<number, CrmRecord[]>
  readAt: number
  /** Results of parents that end without being sent. */
  results: ItemResult[]
  /** Why the CRM may not be read now, if that was found at the first parent. The refusal also applies to the remaining parents. */
  block: Refusal | null
}

/** Codes that concern the whole connection, not a single call. */
const shutting: string[] = ['CONNECTION_THROTTLED', 'CONNECTION_UNAVAILABLE', 'CONNECTION_NOT_FOUND', 'WRITES_PAUSED', 'NOT_OFFERED']
export const isStopping = ({code}: Refusal) => shutting.includes(code)

/** The maximum time, in ms, for reading the parents of one request. After that, the request is sent for the parents that were read. */
const readForMs = 2_000

/**
 * Reserves the parents in order and reads their rows. Ends when the request is full, when the run's row limit is reached, or after two seconds. If
 * the run was stopped, or the row limit has no room for the first parent, returns all parents unread. The admission then decides how they end.
 */
export const gatherPack = async (pipeline: PackContext, parents: ParentItem[]): Promise<RowPack> => {
  const pack: RowPack = {units: [], held: new Map(), readAt: performance.now(), results: [], block: null}
  const until = performance.now() + readForMs
  let room = await readRoom(pipeline)
  let elements = 0
  for (const parent of parents) {
    const isFirst = pack.units.length === 0
    if (!isFirst && performance.now() > until) break
    const fresh = await countFresh(pipeline, parent)
    if (room === null || fresh > room) return isFirst && pack.results.length === 0 ? {...pack, units: parents.map(unitOf)} : pack
    const read = (await hold(pipeline, parent)) ?? (await readParent(pipeline, parent, fresh))
    if (read instanceof Refusal) return isFirst ? {...pack, block: read} : pack
    if (!Array.isArray(read)) {
      pack.results.push(read)
      continue
    }
    elements += read.length + parent.rows.length
    if (elements > elementsAtOnce) break
    room -= fresh
    pack.units.push(unitOf(parent))
    pack.held.set(parent.at, read)
    pack.readAt = performance.now()
  }
  return pack
}

/** Stores the rows that the pack replaces, one image per parent. Call it before the intent is stored. */
export const keepPackImages = async ({db, images, write, run, request, rowFields}: PackContext, {units, held}: RowPack): Promise<void> => {
  const {field, childNo: module, flowNo, items} = request
  if (!images) return
  const keys = items.flatMap(({rows}) => rows.slice(0, 1).map(({rowKey}) => rowKey))
  const attempts = await findNextAttempts(db, {run, module, keys})
  const list = units.flatMap(({at, parent}): [number, BeforeImage][] => {
    const rows = items.find(item => item.at === at)!.rows
    const before = held.get(at)
    const [first] = rows
    if (!before || !first) return []
    return [
      [
        at,
        {
          row: first.rowNumber ?? 0,
          key: first.rowKey,
          flow: flowNo ?? 0,
          module,
          recordId: parent!,
          phase: 'write' as const,
          attempt: attempts.get(first.rowKey)!,
          item: `${write.id} ${at}`,
          before: {[field]: valuesOfRows(rowFields, before)},
          sent: {[field]: rows.map(({payload}) => payload)},
          subform: {field, rows: rows.map(({rowKey: key, rowNumber: number = 0}) => ({key, number}))},
        },
      ],
    ]
  })
  await images.keep(new Map(list))
}

/**
 * Reserves a parent before its rows are read, so that no other run or write of this deployment replaces them in between. Returns null if the
 * reservation succeeded, else the item's result.
 */
const hold = async ({db, write, connection, holdSeconds}: PackContext, {at, parentId}: ParentItem): Promise<ItemResult | null> => {
  const [held] = await holdParents(db, connection.connector, {holder: {write: write.id}, parents: [parentId], seconds: holdSeconds})
  return held!.isHeld ? null : underWay(at, Math.ceil(held!.leftMs ?? soonMs))
}

/** Returns how many more rows the run may write, or null if the run was asked to stop. */
const readRoom = async ({db, write}: PackContext) => {
  const head = (await findHead(db, write.runNo))!
  return head.stop ? null : head.rowsLimit - head.counted
}

const countFresh = async ({db, write, request}: PackContext, {rows}: ParentItem) =>
  (await listFreshKeys(db, {run: write.runNo, module: request.childNo, keys: rows.map(({rowKey}) => rowKey)})).length

const unitOf = ({at, parentId, rows}: ParentItem): AdmissionUnit => ({
  at,
  parent: parentId,
  rows: rows.map(({rowKey, rowNumber = null}) => ({
    key: rowKey,
    number: rowNumber,
    target: parentId,
    hasUniqueKey: false,
    digests: Buffer.alloc(0),
  })),
})

/**
 * Returns the rows to remove, or why nothing can be sent. A parent that this run created has no rows, unless rows for it were sent before
 * and may exist.
 */
const readParent = async (pipeline: PackContext, parent: ParentItem, fresh: number): Promise<CrmRecord[] | ItemResult | Refusal> => {
  const {at, parentId, made, rows} = parent
  if (made && fresh === rows.length) return []
  try {
    const held = await readHeld(pipeline, parentId)
    if (!held) return notSent(at, noParent)
    return held.length + rows.length > elementsAtOnce ? notSent(at, tooMany(held.length, rows.length)) : held
  } catch (error) {
    if (error instanceof CrmError) return {at, result: unread(error), again: true}
    if (!(error instanceof Refusal)) throw error
    return isStopping(error) ? error : refusedUnsent(at, error)
  }
}

const readHeld = async ({connection, request: {module, field, child}, rowFields, signal}: PackContext, id: string) => {
  const fields = rowFields.map(({apiName}) => apiName)
  return connection.isRecordId(id) ? ((await connection.readRows(module, id, {field, child, fields}, {signal}))?.rows ?? null) : null
}

const unread = (error: CrmError) => ({ok: false, written: false, crm: error.crm, error: sayUnread(error)})

export const sayUnread = ({message}: CrmError) => `The rows it holds could not be read, so nothing was written. ${message}`

export const noParent = {code: 'NOT_FOUND', error: 'The CRM has no such parent. Nothing was written'}

export const tooMany = (goes: number, comes: number) => ({
  code: 'BATCH_SIZE',
  error: `The CRM takes ${elementsAtOnce} rows in one request, including removed rows. For this parent, ${goes} or more rows would be removed and ${comes} added. Nothing was written. Remove rows of the parent in the CRM first`,
})
