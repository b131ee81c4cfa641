import type {Controls} from './controls.ts'
import {findRecords} from './coql.ts'
import type {ReadOptions, WriteAnswer, WriteOptions} from './crm.ts'
import {asObject, CrmError} from './error.ts'
import {silentOn} from './outcome.ts'
import {answerOf, listOf, type Reach} from './reach.ts'
import {pathOf, updateRecords} from './records.ts'

/** Rows sent in one request, those to be removed among them. The CRM cuts it there. Source: the specification's limits. */
export const elementsAtOnce = 2_000

/** A parent's rows as they are to be: the old ones named, the new ones given. `field`: the parent's field that holds them. */
export type Replacement = {id: string; field: string; deletes: string[]; adds: Record<string, unknown>[]}

/**
 * The ids of every row a parent holds in one field; null when there is no such parent. A single read may leave rows out and then says
 * so: the subform's own module knows them all. Of more than 2,000 the first so many are answered.
 */
export const readRowIds = async (
  reach: Reach,
  module: string,
  id: string,
  {field, child}: {field: string; child: string},
  options: ReadOptions & {controls: Controls},
): Promise<string[] | null> => {
  const outcome = await reach({
    operation: 'read',
    method: 'GET',
    path: `${pathOf(module)}/${encodeURIComponent(id)}`,
    signal: options.signal,
  })
  const parent = asObject(listOf(outcome, 'data')[0])
  if (!parent) return null
  if (asObject(parent.$has_more)?.[field] === true) return pageThrough(reach, child, id, options)
  const ids = idsIn(parent[field])
  // Taken for no rows, they would stay beside the new ones.
  if (!ids) throw new CrmError(silentOn(answerOf(outcome)))
  return ids
}

const pageThrough = async (reach: Reach, child: string, parent: string, options: ReadOptions & {controls: Controls}): Promise<string[]> => {
  const {records, unaskable} = await findRecords(reach, {module: child, field: 'Parent_Id', values: [parent], fields: []}, options)
  if (unaskable[0]) throw new CrmError(unaskable[0].crm)
  return records.map(({id}) => id)
}

/** Undefined for what does not say which rows there are. */
const idsIn = (rows: unknown): string[] | undefined => {
  if (rows === null) return []
  if (!Array.isArray(rows)) return undefined
  const ids = rows.map(row => asObject(row)?.id)
  return ids.every(id => typeof id === 'string') ? ids : undefined
}

/** One request for all these parents, each of which gets its new rows or keeps its old ones. */
export const replaceRows = (reach: Reach, module: string, parents: Replacement[], options: WriteOptions): Promise<WriteAnswer> =>
  updateRecords(
    asked => reach({...asked, operation: 'replace_rows'}),
    module,
    parents.map(({id, field, deletes, adds}) => ({id, [field]: [...deletes.map(row => ({id: row, _delete: null})), ...adds]})),
    options,
  )
