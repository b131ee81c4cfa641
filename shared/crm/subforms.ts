import {findRecords, type QueryState} from './coql.ts'
import type {CrmRecord, ReadOptions, WriteAnswer, WriteOptions} from './crm.ts'
import {asObject, CrmError} from './error.ts'
import {unanswered204} from './outcome.ts'
import {pathOf, updateRecords} from './record-calls.ts'
import {answerOf, listOf, type SendCrmRequest} from './request.ts'

/** The most rows in one request, removed ones included. The CRM drops further rows. */
export const elementsAtOnce = 2_000

/** The change of a parent's rows: ids to delete, and new rows. `field`: the parent's field that holds the rows. */
export type Replacement = {id: string; field: string; deletes: string[]; adds: Record<string, unknown>[]}

/** A parent's subform field. `child`: the module of its rows. `fields`: the row fields to read; a row may hold others too. */
export type SubformFields = {field: string; child: string; fields: string[]}
export type ParentRows = {parent: CrmRecord; rows: CrmRecord[]}

/**
 * Reads a parent with the rows of one field; null if the parent does not exist. If the CRM omits rows in the parent, it sets `$has_more`. The
 * rows are then queried in the subform's own module, at most 2,000.
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
  if (asObject(found.$has_more)?.[field] === true)
    return {parent, rows: await readAllPages(sendCrmRequest, {child, parent: id, fields}, options)}
  const rows = rowsIn(found[field])
  // An unreadable list must not count as empty. Otherwise a replacement would keep the old rows beside the new rows.
  if (!rows) throw new CrmError(unanswered204(answerOf(outcome)))
  return {parent, rows}
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

/** Returns the rows; none for null. Undefined if the value is not a list of rows with ids. */
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
