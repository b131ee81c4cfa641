import {isQueryRefused} from '../../../shared/crm/coql-page.ts'
import type {CrmRecord, RecordQuery} from '../../../shared/crm/crm.ts'
import {listWritten} from '../../../sql/chain-rows.ts'
import {isWrittenRecently} from '../../../sql/recent-writes.ts'
import type {Context} from '../context.ts'
import {isPlannedId} from '../dry-run/planned-ids.ts'
import type {CompiledFlow, FlowField, ImportRow} from '../model.ts'
import {lagSecondsOf} from '../send/admission.ts'
import {readWithRetry} from '../send/crm-retry.ts'
import type {Op} from '../settle/verdict.ts'
import {holdsAll, isComparable} from './compare-values.ts'
import {readByIdUnlessRefused} from './read-by-id.ts'

/** Returns the fields, or null if the values of at least one field cannot be compared. */
export const listComparable = (fields: FlowField[]): FlowField[] | null => (fields.every(isComparable) ? fields : null)

type ValueQuery = Pick<RecordQuery, 'field' | 'values' | 'fields'>

/**
 * Finds records by a match field and reads the values to compare and the values for before images. Compared fields beyond the column limit
 * of a query are read by id. If the CRM refuses to show the values, the flow stops comparing and sends every update.
 */
export const findWithValues = async (ctx: Context, flow: CompiledFlow, {fields, ...query}: ValueQuery) => {
  const {connection, lease} = ctx
  const find = (columns: string[]) => connection.findRecords({module: flow.module.apiName, ...query, fields: columns}, {signal: lease.lost})
  const listColumns = () => [...new Set([...fields, ...(flow.comparedFields ?? []).map(({apiName}) => apiName)])]
  const imageColumns = () => (ctx.images ? (flow.imageFields ?? []).map(({apiName}) => apiName) : [])
  const found = await readWithRetry(ctx, () => {
    const columns = [...new Set([...listColumns(), ...imageColumns()])]
    return find(columns.slice(0, connection.columnsPerQuery)).catch(error => {
      if (!isQueryRefused(error) || columns.length === fields.length) throw error
      stopComparing(ctx, flow, error)
      return find(fields)
    })
  })
  const more = listColumns().slice(connection.columnsPerQuery)
  return {...found, records: await addValues(ctx, flow, found.records, more)}
}

const addValues = async (ctx: Context, flow: CompiledFlow, records: CrmRecord[], fields: string[]): Promise<CrmRecord[]> => {
  if (fields.length === 0) return records
  const values = await readByIdUnlessRefused(ctx, flow, {ids: records.map(({id}) => id), fields})
  if (!values) stopComparing(ctx, flow)
  return records.map(record => ({...record, ...values?.get(record.id)}))
}

const stopComparing = ({log}: Context, flow: CompiledFlow, err?: unknown) => {
  log.warn({err, module: flow.module.apiName}, 'the CRM refuses to show mapped fields, so unchanged records are updated too')
  flow.comparedFields = null
  flow.imageFields = []
}

/**
 * Fills `row.known` if the flow keeps edits or the run stores before images. Fills `row.unchanged` unless the flow keeps edits, because
 * `keepEdits` then compares the records. If the query may be stale, records that seem unchanged are read again by id. Rows with links still
 * to resolve are compared later by `findUnchangedOps`.
 */
export const findUnchanged = async (
  ctx: Context,
  flow: CompiledFlow,
  rows: ImportRow[],
  matchesOf: (row: ImportRow) => CrmRecord[],
): Promise<void> => {
  const {comparedFields: fields} = flow
  if (flow.edits || ctx.images) for (const row of rows) row.known = matchesOf(row)
  if (!fields || flow.edits) return
  const compared = rows.filter(row => !row.waitsFor && !row.pendingLinks)
  for (const row of compared) row.unchanged = matchesOf(row).flatMap(record => (holdsAll(fields, row.payload, record) ? [record.id] : []))
  const found = compared.filter(({unchanged}) => unchanged!.length > 0)
  if (found.length === 0 || !(await mayBeStale(ctx, flow))) return
  const holds = await readHolders(
    ctx,
    flow,
    found.flatMap(({unchanged}) => unchanged!),
  )
  for (const row of found) row.unchanged = row.unchanged!.filter(id => holds(row, id))
}

/**
 * Removes records from `row.unchanged` that may have changed since they were read. The CRM may still execute an unanswered update of the
 * record. If several flows write the module, a row of the chain may also have written the record. In a dry run, such writes are planned
 * ones.
 */
export const dropChanged = async (ctx: Context, flow: CompiledFlow, rows: ImportRow[]): Promise<void> => {
  const found = rows.filter(({unchanged}) => unchanged?.length)
  if (found.length === 0) return
  const ids = hasOneFlow(ctx, flow) ? [] : found.flatMap(({unchanged}) => unchanged!)
  const written = await findWritten(ctx, flow, ids)
  for (const row of found) row.unchanged = row.unchanged!.filter(id => !written.has(id) && !ctx.lateUpdates.has(id))
}

/**
 * Reads the records by id and returns the updates that would change nothing. Call it while the rows lock their records. A record that a row of the
 * chain wrote is always updated. A dry run only plans that write and cannot read it, and its plan must equal the real run.
 */
export const findUnchangedOps = async (ctx: Context, flow: CompiledFlow, ops: Op[]): Promise<Set<Op>> => {
  const open = ops.filter(({target}) => !isPlannedId(target!) && !ctx.lateUpdates.has(target!))
  const written = await findWritten(
    ctx,
    flow,
    open.map(({target}) => target!),
  )
  const compared = open.filter(({target}) => !written.has(target!))
  const holds = await readHolders(
    ctx,
    flow,
    compared.map(({target}) => target!),
  )
  return new Set(compared.filter(({row, target}) => holds(row, target!)))
}

const hasOneFlow = ({snapshot}: Context, {module}: CompiledFlow) => snapshot.flows.filter(({moduleNo}) => moduleNo === module.no).length < 2

/**
 * Whether a query that was made `ageSeconds` ago may have missed a recent write. True if several flows write the module. True too if another run
 * may have written after the query, or before it within the CRM's lag.
 */
export const mayBeStale = async (ctx: Context, flow: CompiledFlow, ageSeconds = 0): Promise<boolean> => {
  const {dc, crmOrgId} = ctx.connection.connector
  const seconds = lagSecondsOf(ctx) + ageSeconds
  return !hasOneFlow(ctx, flow) || (await isWrittenRecently(ctx.db, {dc, crmOrgId, run: ctx.run.no, seconds}))
}

/** Returns the ids of records that rows of the chain wrote, or would write in a dry run. */
const findWritten = async (ctx: Context, {module}: CompiledFlow, ids: string[]): Promise<Set<string>> => {
  if (ids.length === 0) return new Set()
  return new Set(await listWritten(ctx.db, {chains: [ctx.chain, ctx.retried ?? ctx.chain], module: module.no, records: [...new Set(ids)]}))
}

/**
 * Reads records by id. Returns a predicate: whether a record already has every value of a row. If the run stores before images, the
 * predicate also stores the record in the row.
 */
const readHolders = async (ctx: Context, flow: CompiledFlow, ids: string[]): Promise<(row: ImportRow, id: string) => boolean> => {
  const fields = flow.comparedFields ?? []
  const records = await readByIdUnlessRefused(ctx, flow, {ids: [...new Set(ids)], fields: fields.map(({apiName}) => apiName)})
  if (!records) stopComparing(ctx, flow)
  return (row, id) => {
    const record = records?.get(id)
    if (record && ctx.images) Object.assign(row, {known: [record], isKnownById: true})
    return record !== undefined && holdsAll(fields, row.payload, record)
  }
}
