import {bulkCreditsPerJob, bulkRowsPerJob} from '../../../shared/crm/bulk/bulk-write.ts'
import type {CountSpan, RouteForecast} from '../../../shared/runs/forecast/forecast.ts'
import {findBulkBlock} from '../../engine/bulk/choose-write.ts'
import {type CallSpan, spanOf} from './call-plan.ts'
import {maxPollsOf} from './job-polls.ts'
import type {PlannedFlow} from './plan-calls.ts'

/** The estimated time of a job: fixed seconds, plus the time for its rows at this rate. */
const [secondsPerJob, rowsPerSecond] = [60, 1_000] as const
/** The calls of a job besides its start: upload, polls and download. A short job is polled once. */
const [fewestJobCalls, mostJobCalls] = [3, 2 + maxPollsOf(secondsPerJob + bulkRowsPerJob / rowsPerSecond)] as const

/**
 * Returns the calls and credits of the bulk jobs. `kinds`: rows to create and rows to update, in separate files. `written`: rows of both kinds
 * together.
 */
export const bulkWritesOf = (kinds: CountSpan[], written: CountSpan): CallSpan => {
  const jobsOf = (rows: number) => Math.ceil(rows / bulkRowsPerJob)
  const sum = (of: (kind: CountSpan) => number) => kinds.reduce((total, kind) => total + jobsOf(of(kind)), 0)
  const used = kinds.filter(({max}) => max > 0).length
  const jobs = spanOf(
    Math.max(
      jobsOf(written.min),
      sum(({min}) => min),
    ),
    Math.min(
      written.max === 0 ? 0 : jobsOf(written.max) + used - 1,
      sum(({max}) => max),
    ),
  )
  return {
    calls: spanOf(jobs.min * (1 + fewestJobCalls), jobs.max * (1 + mostJobCalls)),
    credits: spanOf(jobs.min * (bulkCreditsPerJob + fewestJobCalls), jobs.max * (bulkCreditsPerJob + mostJobCalls)),
  }
}

type Price = Pick<RouteForecast, 'credits' | 'seconds'>
type BulkRouteInput = {
  flows: PlannedFlow[]
  /** Whether the destination, in its data centre, has bulk jobs that write. */
  hasBulk: boolean
  /** The forecast of the same run with record calls. */
  byRecords: Price
  priceWith(bulkFlows: ReadonlySet<number>): Price
}

/**
 * Forecasts the route on which flows write by bulk jobs. Other flows write by record calls. Ignores that a bulk file cannot contain some rows,
 * because their number is not known.
 */
export const forecastBulkRoute = ({flows, hasBulk, byRecords, priceWith}: BulkRouteInput): RouteForecast => {
  const blocks = new Map(flows.map(({flow, patch}) => [flow.no, findBulkBlock(flow, {hasBulk, hasPatches: patch !== null})]))
  const inBulk = flows.filter(({flow}) => blocks.get(flow.no) === null)
  const route = {match: 'query', write: 'bulk'} as const
  if (inBulk.length === 0) return {...route, ...byRecords, blockedBy: [...blocks.values()][0] ?? 'The import has no flow'}
  const {credits, seconds} = priceWith(new Set(inBulk.map(({flow}) => flow.no)))
  const rows = inBulk.reduce((sum, {written}) => sum + written.max, 0)
  const waitSeconds = Math.ceil(rows / bulkRowsPerJob) * secondsPerJob + rows / rowsPerSecond
  const after = (time: number) => Math.round((time + waitSeconds) * 10) / 10
  return {...route, credits, seconds: {p50: after(seconds.p50), p95: after(seconds.p95)}, blockedBy: null}
}
