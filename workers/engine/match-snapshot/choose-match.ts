import {creditsOfQuery} from '../../../shared/crm/call-credits.ts'
import {rowsToRead} from '../../../shared/mapping/flows/snapshot.ts'
import type {Context} from '../context.ts'
import type {CompiledFlow} from '../model.ts'
import {countModule} from './count-module.ts'

/** The route by which a flow finds records. `why`: the reason, as people read it. */
export type MatchRoute = {match: 'query' | 'snapshot'; why: string}

/** Field types that a query and the match key compare alike. Queries miss other spellings of phones and times. */
const EXACT_TYPES = new Set(['text', 'email', 'website', 'picklist', 'integer', 'bigint', 'long', 'double', 'autonumber'])
/** The maximum number of fields of an export. A public note says 200; the vendor's OpenAPI document says 1,000. */
const mostFields = 200

type RouteFlow = Pick<CompiledFlow, 'matchFields' | 'comparedFields' | 'onOne' | 'deletes' | 'subform' | 'patchPlan' | 'module'>
/** `columns`: the maximum number of fields of one query, because one query must read all fields of a changed record. */
type RouteFacts = {hasExports: boolean; columns: number; flowsOfModule: number}

/** Returns why the flow cannot match against an export; null if it can. */
export const findSnapshotBlock = (flow: RouteFlow, {hasExports, columns, flowsOfModule}: RouteFacts): string | null => {
  const [first] = flow.matchFields
  if (!hasExports) return 'This destination exports no records'
  if (!first || flow.onOne === 'create') return 'The flow looks for no records'
  if (flow.deletes) return 'Records to delete are found by queries'
  if (flow.subform || flow.patchPlan) return 'Rows of a subform are not matched'
  if (flowsOfModule > 1) return 'Several flows write this module, so an export would soon be old'
  if (!EXACT_TYPES.has(first.type)) return `Values of ${first.apiName} can be written in several ways`
  const fields = new Set([...flow.matchFields, ...(flow.comparedFields ?? [])].map(({apiName}) => apiName))
  const most = Math.min(columns, mostFields)
  return fields.size > most ? `The flow matches and compares more than ${most} fields` : null
}

/** The credits of an export job besides its start: its polls and its download cost one credit per call. */
const callsPerJob = 4

const creditsOfExport = (records: number, {creditsPerJob, recordsPerJob}: {creditsPerJob: number; recordsPerJob: number}): number =>
  Math.max(1, Math.ceil(records / recordsPerJob)) * (creditsPerJob + callsPerJob)

/**
 * Returns the route that the run or its flow asks for; for `auto`, the cheaper one. Returns queries if the flow cannot match against an
 * export.
 */
export const chooseMatchRoute = async (ctx: Context, flow: CompiledFlow): Promise<MatchRoute> => {
  const {connection, run, snapshot} = ctx
  const isOfFlow = run.matchBy === 'flow'
  const wanted = run.matchBy === 'flow' ? (flow.routes?.matchBy ?? 'query') : run.matchBy
  if (wanted === 'query') return {match: 'query', why: isOfFlow ? 'The flow matches by queries' : 'The run was started with queries'}
  const flowsOfModule = snapshot.flows.filter(({moduleNo}) => moduleNo === flow.module.no).length
  const hasExports = connection.bulkRead !== null && connection.readChanges !== null
  const block = findSnapshotBlock(flow, {hasExports, columns: connection.columnsPerQuery, flowsOfModule})
  if (block !== null) return {match: 'query', why: block}
  if (wanted === 'snapshot')
    return {match: 'snapshot', why: isOfFlow ? 'The flow matches against an export' : 'The run was started with an export'}
  return chooseCheaper(ctx, flow)
}

const chooseCheaper = async (ctx: Context, flow: CompiledFlow): Promise<MatchRoute> => {
  const {connection} = ctx
  const bulkRead = connection.bulkRead!
  const {valuesPerQuery} = connection
  const queries = Math.ceil(rowsToRead(flow.source, ctx.snapshot.rows) / valuesPerQuery) * creditsOfQuery(valuesPerQuery + 10)
  // The queries cost at most as much as the smallest export, so the records need not be counted.
  if (queries <= creditsOfExport(1, bulkRead)) return {match: 'query', why: `Queries cost about ${queries} credits`}
  const records = await countModule(ctx, flow.module.apiName)
  if (records === null) return {match: 'query', why: 'The CRM does not say how many records the module has'}
  const credits = creditsOfExport(records, bulkRead)
  const compared = `an export costs about ${credits} credits, and queries about ${queries}`
  return credits < queries ? {match: 'snapshot', why: compared} : {match: 'query', why: compared}
}
