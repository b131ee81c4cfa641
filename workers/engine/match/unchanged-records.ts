import {isQueryRefused} from '../../../shared/crm/coql-page.ts'
import type {CrmRecord, RecordQuery} from '../../../shared/crm/crm.ts'
import {isWrittenRecently} from '../../../sql/recent-writes.ts'
import type {Context} from '../context.ts'
import {readFields} from '../dry-run/plan-values.ts'
import type {CompiledFlow, FlowField, ImportRow} from '../model.ts'
import {lagSecondsOf} from '../send/admission.ts'
import {readWithRetry} from '../send/crm-retry.ts'
import {holdsAll, isComparable} from './compare-values.ts'

/** Returns the fields, or null if the values of one field cannot be compared with what is sent. */
export const listComparable = (fields: FlowField[]): FlowField[] | null => (fields.every(isComparable) ? fields : null)

type ValueQuery = Pick<RecordQuery, 'field' | 'values' | 'fields'>

/**
 * Finds records by a match field, with the values to compare. If the CRM refuses to select those values, the flow continues without them
 * and sends each update.
 */
export const findWithValues = (ctx: Context, flow: CompiledFlow, {fields, ...query}: ValueQuery) => {
  const find = (compared: readonly FlowField[]) => {
    const columns = [...new Set([...fields, ...compared.map(({apiName}) => apiName)])]
    return ctx.connection.findRecords({module: flow.module.apiName, ...query, fields: columns}, {signal: ctx.lease.lost})
  }
  return readWithRetry(ctx, async () => {
    const {comparedFields} = flow
    if (!comparedFields) return find([])
    return find(comparedFields).catch(error => {
      if (!isQueryRefused(error)) throw error
      ctx.log.warn(
        {err: error, module: flow.module.apiName},
        'the CRM refuses to select mapped fields, so unchanged records are updated too',
      )
      flow.comparedFields = null
      return find([])
    })
  })
}

/**
 * Fills `row.unchanged`, or `row.known` if the flow keeps edits, which compares later. A query may show a record as it was before a recent write. Records are read by id if another run, or another flow
 * of this run, wrote to the CRM org within the lag.
 */
export const findUnchanged = async (
  ctx: Context,
  flow: CompiledFlow,
  rows: ImportRow[],
  matchesOf: (row: ImportRow) => CrmRecord[],
): Promise<void> => {
  const {comparedFields: fields} = flow
  if (!fields) return
  if (flow.edits) {
    for (const row of rows) row.known = matchesOf(row)
    return
  }
  // A row that waits for its parent gets its link later.
  const compared = rows.filter(row => !row.waitsFor && !row.pendingLinks)
  for (const row of compared)
    row.unchanged = matchesOf(row).flatMap(record =>
      holdsAll(fields, row.payload, record) && !mayChangeLate(ctx, row, record.id) ? [record.id] : [],
    )
  const found = compared.filter(({unchanged}) => unchanged!.length > 0)
  if (found.length > 0 && (await mayBeStale(ctx, flow))) await confirm(ctx, flow, fields, found)
}

/** Whether the CRM may still execute another row's unanswered update of the record. */
export const mayChangeLate = ({lateUpdates}: Pick<Context, 'lateUpdates'>, {key}: Pick<ImportRow, 'key'>, recordId: string): boolean =>
  lateUpdates.waitMs(recordId, key) > 0

/** Whether a query may show records as they were before a recent write. */
export const mayBeStale = async (ctx: Context, flow: CompiledFlow): Promise<boolean> => {
  const {dc, crmOrgId} = ctx.connection.connector
  const flows = ctx.snapshot.flows.filter(({moduleNo}) => moduleNo === flow.module.no)
  return flows.length > 1 || (await isWrittenRecently(ctx.db, {dc, crmOrgId, run: ctx.run.no, seconds: lagSecondsOf(ctx)}))
}

const confirm = async (ctx: Context, flow: CompiledFlow, fields: readonly FlowField[], rows: ImportRow[]) => {
  const ids = [...new Set(rows.flatMap(({unchanged}) => unchanged!))]
  const records = new Map<string, CrmRecord>()
  for (const record of await readFields(ctx, flow, {ids, fields: fields.map(({apiName}) => apiName)}))
    records.set(record.id, {...records.get(record.id), ...record})
  for (const row of rows)
    row.unchanged = row.unchanged!.filter(id => {
      const record = records.get(id)
      return record !== undefined && holdsAll(fields, row.payload, record)
    })
}
