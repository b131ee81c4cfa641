import {findRecords, type QueryState} from './coql.ts'
import type {ReadOptions, WriteAnswer, WriteOptions} from './crm.ts'
import {asObject, CrmError} from './error.ts'
import {unanswered204} from './outcome.ts'
import {pathOf, updateRecords} from './record-calls.ts'
import {answerOf, listOf, type SendCrmRequest} from './request.ts'

/** The most rows in one request, removed ones included. The CRM drops further rows. Source: the specification's limits. */
export const elementsAtOnce = 2_000

/** The change of a parent's rows: ids to delete, and new rows. `field`: the parent's field that holds them. */
export type Replacement = {id: string; field: string; deletes: string[]; adds: Record<string, unknown>[]}

/**
 * Returns the ids of all rows in one field of a parent; null if the parent does not exist. A read of the parent may omit rows and says so. The rows
 * are then queried in the subform's own module, at most 2,000.
 */
export const readRowIds = async (
  sendCrmRequest: SendCrmRequest,
  module: string,
  id: string,
  {field, child}: {field: string; child: string},
  options: QueryOptions,
): Promise<string[] | null> => {
  const outcome = await sendCrmRequest({
    operation: 'read',
    method: 'GET',
    path: `${pathOf(module)}/${encodeURIComponent(id)}`,
    signal: options.signal,
  })
  const parent = asObject(listOf(outcome, 'data')[0])
  if (!parent) return null
  if (asObject(parent.$has_more)?.[field] === true) return readAllPages(sendCrmRequest, child, id, options)
  const ids = idsIn(parent[field])
  // An unreadable list must not count as empty. Otherwise the old rows would stay beside the new ones.
  if (!ids) throw new CrmError(unanswered204(answerOf(outcome)))
  return ids
}

type QueryOptions = ReadOptions & QueryState

const readAllPages = async (sendCrmRequest: SendCrmRequest, child: string, parent: string, options: QueryOptions): Promise<string[]> => {
  const {records, unaskable} = await findRecords(sendCrmRequest, {module: child, field: 'Parent_Id', values: [parent], fields: []}, options)
  if (unaskable[0]) throw new CrmError(unaskable[0].crm)
  return records.map(({id}) => id)
}

/** Returns the ids of the rows. Undefined if the value is not a list of rows. */
const idsIn = (rows: unknown): string[] | undefined => {
  if (rows === null) return []
  if (!Array.isArray(rows)) return undefined
  const ids = rows.map(row => asObject(row)?.id)
  return ids.every(id => typeof id === 'string') ? ids : undefined
}

/** Sends one request for all these parents. Each parent gets its new rows or keeps its old ones. */
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
