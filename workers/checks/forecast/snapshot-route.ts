import {recordsPerJob} from '../../../shared/crm/bulk/bulk-read.ts'
import {countsCredits} from '../../../shared/crm/limits/quota-report.ts'
import type {RouteForecast} from '../../../shared/runs/forecast/forecast.ts'
import type {ConnectorRow} from '../../../sql/connectors.ts'
import {findSnapshotBlock} from '../../engine/match-snapshot/choose-match.ts'
import type {ExportPlan, PlannedFlow} from './plan-calls.ts'

/** The estimated time of a job: fixed seconds, plus the time for its records at this rate. */
const [secondsPerJob, recordsPerSecond] = [60, 1_000] as const

type SnapshotRouteInput = {
  flows: PlannedFlow[]
  connector: ConnectorRow
  /** The most fields of one query. */
  columns: number
  sizes: readonly {module: string; records: number}[]
  /** The forecast of the same run with queries. */
  queried: Pick<RouteForecast, 'credits' | 'seconds'>
  priceWith(exports: ReadonlyMap<number, ExportPlan>): Pick<RouteForecast, 'credits' | 'seconds'>
}

/** Forecasts the route on which flows match against exports. Flows that cannot use an export are planned with queries. */
export const forecastSnapshotRoute = ({flows, connector, columns, sizes, queried, priceWith}: SnapshotRouteInput): RouteForecast => {
  const exports = new Map<number, ExportPlan>()
  const blocks: string[] = []
  let waitSeconds = 0
  for (const {flow} of flows) {
    const flowsOfModule = flows.filter(one => one.flow.module.no === flow.module.no).length
    const size = sizes.find(({module}) => module === flow.module.apiName)
    const block =
      findSnapshotBlock(flow, {hasExports: countsCredits(connector.kind), columns, flowsOfModule}) ??
      (size ? null : unknownSize(flow.module.apiName))
    if (block !== null) blocks.push(block)
    else {
      const jobs = Math.max(1, Math.ceil(size!.records / recordsPerJob))
      // The jobs of all pages run at once.
      const jobSeconds = secondsPerJob + Math.min(size!.records, recordsPerJob) / recordsPerSecond
      exports.set(flow.no, {jobs, jobSeconds, seconds: queried.seconds.p95})
      waitSeconds += jobSeconds
    }
  }
  const route = {match: 'snapshot', write: 'records'} as const
  if (exports.size === 0)
    return {...route, credits: queried.credits, seconds: queried.seconds, blockedBy: blocks[0] ?? 'The import has no flow'}
  const {credits, seconds} = priceWith(exports)
  const after = (time: number) => Math.round((time + waitSeconds) * 10) / 10
  return {...route, credits, seconds: {p50: after(seconds.p50), p95: after(seconds.p95)}, blockedBy: null}
}

const unknownSize = (module: string) => `The number of records of ${module} is not known yet. A run with match: auto counts them`
