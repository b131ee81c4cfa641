import {findRecords, type QueryState} from './coql.ts'
import type {CrmRecord, ReadOptions, WriteAnswer, WriteOptions} from './crm.ts'
import {asObject, CrmError} from './error.ts'
import {unanswered, unanswered204} from './outcome.ts'
import {pathOf, updateRecords} from './record-calls.ts'
import {answerOf, listOf, type SendCrmRequest} from './request.ts'

/** The maximum number of rows in one request, including removed rows. The CRM drops further rows. */
export const elementsAtOnce = 2_000

/** `field`: the parent's field that contains the rows. `deletes`: the ids of rows. `adds`: new rows. */
export type Replacement = {id: string; field: string; deletes: string[]; adds: Record<string, unknown>[]}

/** `child`: the module of the field's rows. `fields`: the row fields to read; a row may contain others too. */
export type SubformFields = {field: string; child: string; fields: string[]}
export type ParentRows = {parent: CrmRecord; rows: CrmRecord[]}

/**
 * Reads a parent with the rows of one field; null if the parent does not exist. If the answer omits rows, the CRM sets `$has_more` on the parent. At
 * most 2,000 rows are then queried from the subform's module. If the record lacks the field, throws an error that is not retryable.
 */
export const readRows = async (
  sendCrmRequest: SendCrmRequest,
  module: string,
  id: string,
  {field, child, fields}: SubformFields,
  options: QueryOptions,
): Promise<ParentRows | null> => {
  const outcome = await sendCrmRequest({
    operation: 'read',
    method: 'GET',
    path: `${pathOf(module)}/${encodeURIComponent(id)}`,
    signal: options.signal,
  })
  const found = asObject(listOf(outcome, 'data')[0])
  if (!found) return null
  const parent = {...found, id}
  if (!(field in found)) {
    const {status, json} = answerOf(outcome)
    const message = `The CRM does not show the field ${field} of ${module}. It was deleted, renamed or hidden from the connection's user`
    throw new CrmError({...unanswered({status, response: json, retryable: false}), code: 'FIELD_NOT_FOUND'}, {message})
  }
  const shown = rowsIn(found[field])
  const isCut = asObject(found.$has_more)?.[field] === true
  const rows = isCut ? await readAllPages(sendCrmRequest, {child, parent: id, fields}, options) : shown
  // If an unreadable list were read as empty, a replacement would keep the old rows beside the new rows. A query that lags behind a
  // replacement misses the new rows, so it must find the rows that the parent shows.
  if (!rows || (isCut && rows.length < elementsAtOnce && !hasAll(rows, shown))) throw new CrmError(unanswered204(answerOf(outcome)))
  return {parent, rows}
}

const hasAll = (rows: CrmRecord[], shown: CrmRecord[] = []) => {
  const ids = new Set(rows.map(({id}) => id))
  return shown.every(({id}) => ids.has(id))
}

type QueryOptions = ReadOptions & QueryState

const readAllPages = async (
  sendCrmRequest: SendCrmRequest,
  {child, parent, fields}: {child: string; parent: string; fields: string[]},
  options: QueryOptions,
): Promise<CrmRecord[]> => {
  const {records, unaskable} = await findRecords(sendCrmRequest, {module: child, field: 'Parent_Id', values: [parent], fields}, options)
  if (unaskable[0]) throw new CrmError(unaskable[0].crm)
  return records.sort((a, b) => a.id.length - b.id.length || (a.id < b.id ? -1 : 1))
}

/** Returns an empty list for null, and undefined if the value is not a list of rows with ids. */
const rowsIn = (rows: unknown): CrmRecord[] | undefined => {
  if (rows === null) return []
  if (!Array.isArray(rows)) return undefined
  return rows.every(row => typeof asObject(row)?.id === 'string') ? rows : undefined
}

/** Sends one request for all these parents. The CRM makes the changes to one parent completely or not at all. */
export const replaceRows = (
  sendCrmRequest: SendCrmRequest,
  module: string,
  parents: Replacement[],
  options: WriteOptions,
): Promise<WriteAnswer> =>
  updateRecords(
    asked => sendCrmRequest({...asked, operation: 'replace_rows'}),
    module,
    parents.map(({id, field, deletes, adds}) => ({id, [field]: [...deletes.map(row => ({id: row, _delete: null})), ...adds]})),
    options,
  )
