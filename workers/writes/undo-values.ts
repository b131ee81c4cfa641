import type {Connection, CrmRecord} from '../../shared/crm/crm.ts'
import type {DiscoveredField} from '../../shared/crm/discovered.ts'
import {CrmError, describeProblem, isRefusedForGood} from '../../shared/crm/error.ts'
import type {SlotShare} from '../../shared/crm/limits/budget.ts'
import {readInParts} from '../../shared/crm/read-in-parts.ts'
import {Refusal} from '../../shared/errors.ts'
import {shapeField} from '../../shared/mapping/flows/snapshot.ts'
import type {RecordItem, RecordsRequest} from '../../shared/runs/external/records.ts'
import type {WriteEnd} from '../../shared/runs/external/settle.ts'
import type {BeforeImage} from '../../shared/runs/undo/before-image.ts'
import type {Db} from '../../sql/database.ts'
import {listExternalRowStates} from '../../sql/external-ledger.ts'
import {findRun, type Run} from '../../sql/runs.ts'
import type {Write} from '../../sql/writes.ts'
import {type ModuleMarks, openMarks} from '../engine/edits/record-marks.ts'
import {openImageStore} from '../engine/images/before-images.ts'
import {mayBeCut} from '../engine/match/compare-values.ts'
import type {Work} from '../worker.ts'
import {type KeptImages, openKeptImages} from './kept-images.ts'
import {holdWithin, soonMs} from './send.ts'

type UndoValuesInput = {
  write: Write
  request: RecordsRequest
  fields: readonly DiscoveredField[]
  connection: Connection
  slots: SlotShare
}

/**
 * Stores what an undo and the recognition of edits need from one request of an external engine. `keep`: stores the values that updates
 * replace; call it before the intents are stored. `mark`: adds the marks of the written values to an item's outcome, unless the item was
 * refused or not sent. `images`: null if the run stores none.
 */
export type UndoValues = {
  keep(items: RecordItem[]): Promise<void>
  mark(end: WriteEnd, item: RecordItem): WriteEnd
  images: KeptImages | null
}

export const openUndoValues = async (work: Work, input: UndoValuesInput): Promise<UndoValues> => {
  const {write, request, connection} = input
  const run = (await findRun(work.db, {org: write.org, id: write.runId}))!
  const named = new Set(request.items.flatMap(({payload}) => Object.keys(payload)))
  const fields = input.fields.filter(({apiName}) => named.has(apiName)).map(shapeField)
  const {module: apiName, moduleNo: no} = request
  const flow: Parameters<typeof openMarks>[1][number] = {
    module: {no, apiName, label: apiName, fields},
    mappings: fields.map(field => ({field, column: null, text: '', clears: false})),
  }
  await openMarks({...work, connection, run}, [flow])
  // Creates need no images, but a run without an image key cannot be undone.
  const store = await openImageStore({...work, run})
  const images = store && openKeptImages(work, store)
  const marks = flow.marks ?? null
  return {
    images,
    keep: items => keepImages(work, {...input, run, images, marks, shaped: fields}, items),
    mark: (end, {payload, recordId}) => {
      const record = end.outcome === 'created' || end.outcome === 'updated' ? end.recordId : recordId
      if (!marks || record === undefined || end.outcome === 'refused' || end.outcome === 'unsent') return end
      const marked = {module: apiName, recordId: record, marks: marks.pack(record, payload), isSure: end.outcome !== 'unanswered'}
      return {...end, marked}
    },
  }
}

type KeepInput = UndoValuesInput & {
  run: Run
  images: KeptImages | null
  marks: ModuleMarks | null
  shaped: ReturnType<typeof shapeField>[]
}

const keepImages = async (work: Work, input: KeepInput, items: RecordItem[]): Promise<void> => {
  const {images, marks, request, shaped} = input
  if (!images || items.length === 0 || input.write.kind !== 'update') return
  const ids = items.map(({recordId}) => recordId!)
  const records = await readValues(work, input, ids)
  // Reads the attempt numbers after the values, so that the values are older than every send with these numbers.
  const attempts = await findNextAttempts(work.db, {run: input.run, module: request.moduleNo, keys: items.map(({rowKey}) => rowKey)})
  const written = await marks?.list(ids)
  const list = items.flatMap(({at, rowKey: key, rowNumber: row = 0, recordId, payload}): [number, BeforeImage][] => {
    // If the newest discovery knows none of the sent fields, the records are not read. The undo then reports these fields as kept.
    const record: CrmRecord | undefined = shaped.length === 0 ? {id: recordId!} : records?.get(recordId!)
    const place = {
      row,
      key,
      flow: request.flowNo ?? 0,
      module: request.moduleNo,
      recordId: recordId!,
      attempt: attempts.get(key)!,
      item: `${input.write.id} ${at}`,
    }
    const sent = {...place, phase: 'write' as const, sent: payload}
    if (!record) return records ? [] : [[at, {...sent, before: {}, isUnread: true}]]
    const before = Object.fromEntries(Object.keys(payload).flatMap(name => (record[name] === undefined ? [] : [[name, record[name]]])))
    const older = written?.get(recordId!)?.packed.toString('base64')
    return [[at, {...sent, before, ...(older !== undefined && {marks: older})}]]
  })
  await images.keep(new Map(list))
}

/**
 * Returns the attempt number of the next send of each row. If an earlier request did not send its item, the next request gets the same number. The
 * two images then differ in `item`, so neither replaces the other.
 */
export const findNextAttempts = async (db: Db, {run, module, keys}: {run: Run; module: number; keys: string[]}) => {
  const states = await db.transaction(tx => listExternalRowStates(tx, {run: run.no, chain: run.chainNo ?? run.no, module, keys}))
  return new Map(states.map(({key, lastAttempt, lastPatch}) => [key, lastAttempt + lastPatch + 1]))
}

/** Reads the values to replace, with whole texts. Null: the CRM refuses to show them. */
const readValues = async (work: Work, {request: {module}, connection, slots, shaped}: KeepInput, ids: string[]) => {
  const underSlot = async <T>(read: () => Promise<T>): Promise<T> => {
    const slot = await holdWithin(slots.small, work.signal)
    try {
      return await read()
    } finally {
      slot.give()
    }
  }
  const {signal} = work
  try {
    const query = {ids: ids.filter(connection.isRecordId), fields: shaped.map(({apiName}) => apiName)}
    const records = await readInParts(connection, query, part => underSlot(() => connection.readRecords({module, ...part}, {signal})))
    const cut = [...records.values()].filter(record => shaped.some(field => mayBeCut(field, record[field.apiName])))
    for (const {id} of cut) {
      const whole: CrmRecord | null = await underSlot(() => connection.readRecord(module, id, {signal}))
      if (whole) records.set(id, whole)
    }
    return records
  } catch (error) {
    if (isRefusedForGood(error)) return null
    if (!(error instanceof CrmError)) throw error
    const {crm, renews, message, extra} = error
    if (crm.quotaSpent)
      throw new Refusal('DAILY_ALLOWANCE_SPENT', message, {written: false, ...(renews && {retryAfterMs: crm.retryAfterMs})})
    const why = describeProblem(crm)
    throw new Refusal('UNAVAILABLE', `The values that an undo would restore could not be read, so nothing was written. ${why}`, {
      written: false,
      retryAfterMs: extra.retryAfterMs ?? crm.retryAfterMs ?? soonMs,
    })
  }
}
