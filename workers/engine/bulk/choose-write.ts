import {type BulkColumn, findBulkColumn} from '../../../shared/crm/bulk/bulk-columns.ts'
import {mostBulkColumns} from '../../../shared/crm/bulk/bulk-file.ts'
import {rowsToRead} from '../../../shared/mapping/flows/snapshot.ts'
import {keepWriteRoute, usesRecordCalls} from '../../../sql/run-routes.ts'
import type {Context} from '../context.ts'
import type {CompiledFlow} from '../model.ts'
import {compilePatchPlan} from '../patch/build-patches.ts'

/**
 * How a flow writes in bulk. `keyColumn`: the first column of creates, by which a record is found again. Null: record calls send the
 * creates. `leastRows`: fewer rows cost less by record calls. `isForced`: the run or the flow asks for bulk writes, so the first file of
 * each kind may have fewer rows.
 */
export type BulkRoute = {
  keyColumn: BulkColumn | null
  rowsPerJob: number
  leastRows: number
  isForced: boolean
  /** Stores that the flow writes by record calls, and why the CRM refuses its bulk files. */
  keepRefused(why: string): Promise<void>
}

/** The modules that bulk jobs cannot write. Source: the vendor's pages of bulk writes. */
const UNSUPPORTED = new Set(['Calls', 'Events', 'Notes', 'Attachments', 'Users'])

type BulkFlow = Pick<
  CompiledFlow,
  | 'mappings'
  | 'module'
  | 'uniqueFields'
  | 'onOne'
  | 'matchFields'
  | 'deletes'
  | 'subform'
  | 'nestedFlows'
  | 'patchPlan'
  | 'parent'
  | 'options'
>

/** Returns why the flow cannot write in bulk; null if it can. `hasPatches`: a patch pass writes to the records of the flow. */
export const findBulkBlock = (flow: BulkFlow, {hasBulk, hasPatches}: {hasBulk: boolean; hasPatches: boolean}): string | null => {
  const unsupported = flow.mappings.find(({field}) => !findBulkColumn(field))
  if (!hasBulk) return 'This destination writes no files'
  if (flow.deletes) return 'Records are deleted by record calls'
  if (flow.subform || flow.nestedFlows?.length) return 'Rows of a subform are written by record calls'
  if (flow.patchPlan || flow.parent || hasPatches) return 'Links to rows of the file are written by record calls'
  if (!flow.options?.automations) return 'The flow does not allow automations, and a bulk job may run them'
  if (flow.options.assignmentRule) return 'A bulk job runs no assignment rule'
  if (UNSUPPORTED.has(flow.module.apiName)) return `${flow.module.apiName} cannot be written in bulk`
  if (unsupported) return `${unsupported.field.apiName} cannot be written in bulk`
  // A file has one key column besides those of the mapped fields: the record id or the idempotency field. If the key is a mapped unique field, the
  // field counts twice here.
  if (flow.mappings.length + 1 > mostBulkColumns) return `A bulk file holds at most ${mostBulkColumns - 1} fields and its key`
  return isMadeOnly(flow) && !findKeyColumn(flow) ? 'No unique field is mapped by which a record would be found again' : null
}

const isMadeOnly = ({onOne, matchFields}: BulkFlow) => onOne === 'create' || matchFields.length === 0

/**
 * Returns the text column by which the records of creates are found again: the idempotency field, or a unique field that the flow fills.
 * Null: the flow has neither.
 */
export const findKeyColumn = ({
  module,
  uniqueFields,
  mappings,
}: Pick<BulkFlow, 'module' | 'uniqueFields' | 'mappings'>): BulkColumn | null => {
  if (module.idempotencyField !== undefined) return {apiName: module.idempotencyField, kind: 'text'}
  const filled = uniqueFields.filter(({apiName}) => mappings.some(({field}) => field.apiName === apiName))
  return filled.map(findBulkColumn).find(column => column?.kind === 'text') ?? null
}

/** The records that one credit pays for in a record call. Source: the vendor's page of API limits. */
const recordsPerCredit = 10
/** The credits of a job's other calls, one each: upload, polls and download. */
const callsPerJob = 9

type Prices = {creditsPerJob: number; readsAgain: boolean}

/**
 * Returns the number of rows from which a job costs less than record calls. `readsAgain`: records are read by id before the file is
 * written, at one credit per 100 records.
 */
const leastRowsOf = ({creditsPerJob, readsAgain}: Prices): number =>
  Math.ceil((creditsPerJob + callsPerJob) / (1 / recordsPerCredit - (readsAgain ? 0.01 : 0)))

/**
 * Chooses how the flow writes its records, and stores the route and its reason. Returns null for record calls. A dry run stores nothing and
 * gets null. If an earlier owner of the run chose record calls, for example after a failed job, they stay chosen.
 */
export const openBulkRoute = async (ctx: Context, flow: CompiledFlow): Promise<BulkRoute | null> => {
  const {connection, db, run} = ctx
  if (run.dryRun || (await usesRecordCalls(db, {run: run.no, flow: flow.no}))) return null
  const keep = (write: 'records' | 'bulk', why: string) => keepWriteRoute(db, {run: run.no, flow: flow.no, write, why})
  const keepRefused = async (why: string) => void (await keep('records', why))
  const byRecords = async (why: string) => {
    await keep('records', why)
    return null
  }
  const isOfFlow = run.writeBy === 'flow'
  const wanted = run.writeBy === 'flow' ? (flow.routes?.writeBy ?? 'records') : run.writeBy
  if (wanted === 'records') return byRecords(isOfFlow ? 'The flow writes by record calls' : 'The run was started with record calls')
  if (ctx.plan) return byRecords('A run that applies a plan compares each record just before its write, so record calls write them')
  const {bulkWrite} = connection
  const block = findBulkBlock(flow, {hasBulk: bulkWrite !== null, hasPatches: hasPatches(ctx, flow)})
  if (block !== null) return byRecords(block)
  const {creditsPerJob, rowsPerJob} = bulkWrite!
  const leastRows = leastRowsOf({creditsPerJob, readsAgain: flow.edits != null || ctx.images !== null})
  const route = {keyColumn: findKeyColumn(flow), rowsPerJob, leastRows, isForced: wanted === 'bulk', keepRefused}
  if (!route.isForced && rowsToRead(flow.source, ctx.snapshot.rows) < leastRows)
    return byRecords(`Record calls cost less for fewer than ${leastRows} rows`)
  await keep(
    'bulk',
    route.isForced
      ? isOfFlow
        ? 'The flow writes by bulk jobs'
        : 'The run was started with bulk jobs'
      : `A bulk job costs less from ${leastRows} rows on`,
  )
  return route
}

const hasPatches = ({snapshot, retried}: Context, {id}: CompiledFlow): boolean => {
  const flow = snapshot.flows.find(one => one.flow.id === id)
  return flow !== undefined && compilePatchPlan(flow, snapshot, retried !== null) !== null
}
