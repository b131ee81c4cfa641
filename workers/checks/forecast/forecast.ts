import {openQueryLimits} from '../../../shared/crm/coql.ts'
import {valuesPerQuery as genericValuesPerQuery} from '../../../shared/crm/generic.ts'
import {findHosts} from '../../../shared/crm/hosts.ts'
import {slotsOfEdition} from '../../../shared/crm/limits/edition-slots.ts'
import {mostLarge} from '../../../shared/crm/limits/fair-share.ts'
import {countsCredits, readQuota} from '../../../shared/crm/limits/quota-report.ts'
import {fieldsPerRead} from '../../../shared/crm/read-in-parts.ts'
import {Refusal} from '../../../shared/errors.ts'
import type {Snapshot} from '../../../shared/mapping/flows/snapshot.ts'
import {findShares, type WrittenShares} from '../../../shared/runs/forecast/find-shares.ts'
import type {CountSpan, Forecast} from '../../../shared/runs/forecast/forecast.ts'
import {freezeImport} from '../../../shared/runs/start.ts'
import {findUndoDays} from '../../../shared/runs/undo/window.ts'
import {type ConnectorRow, readConnector} from '../../../sql/connectors.ts'
import {listPaces} from '../../../sql/crm-paces.ts'
import type {Tx} from '../../../sql/database.ts'
import {findForecastGround, replaceForecast} from '../../../sql/forecasts.ts'
import {findImport, type Import, lockImport} from '../../../sql/imports.ts'
import {setJobProgress} from '../../../sql/jobs.ts'
import {listModuleSizes} from '../../../sql/module-sizes.ts'
import {isWrittenRecently} from '../../../sql/recent-writes.ts'
import {compileFlows} from '../../engine/compose/compiled-flow.ts'
import {type Expressions, openExpressions} from '../../engine/compose/expressions.ts'
import type {CompiledFlow} from '../../engine/model.ts'
import {compilePatchPlan} from '../../engine/patch/build-patches.ts'
import {RunStopped} from '../../engine/run-endings.ts'
import type {Work} from '../../worker.ts'
import {forecastBulkRoute} from './bulk-route.ts'
import {type CallPlan, spanOf} from './call-plan.ts'
import {CONTROLS, type PlannedFlow, planCalls} from './plan-calls.ts'
import {countPlannedSteps} from './planned-steps.ts'
import {priceCalls, priceRun} from './price-run.ts'
import {forecastSnapshotRoute} from './snapshot-route.ts'
import {type FlowTally, tallyRows} from './tally-rows.ts'
import {priceVerification} from './verify-cost.ts'
import {countWritten} from './written-rows.ts'

type ForecastRef = {org: string; importId: string}
type ForecastInput = {
  found: Import
  snapshot: Snapshot
  connector: ConnectorRow
  ground: string
  stores: boolean
  shares: WrittenShares
}

/** Reads every row of the import as a run would, without calling the CRM, and stores what the run would cost at the CRM. */
export const forecastImport = async (work: Work, forecastRef: ForecastRef): Promise<Forecast> => {
  const {db, config} = work
  const input = await db.transaction(tx => readInput(tx, forecastRef))
  const {found, snapshot, connector, shares} = input
  const facts = {...readFacts(connector), snapshot, stores: input.stores, isRecent: await isRecent(work, connector)}
  const flows = await tallyFlows(work, input, facts.valuesPerQuery)
  const plan = planCalls(flows, facts)
  takeQueriesOf(plan, {...shares, flows}, 'query')
  const quota = countsCredits(connector.kind) ? await readQuota(db, connector) : null
  const slots = Math.min(slotsOfEdition(quota?.edition) ?? config.CRM_SLOTS, mostLarge)
  const pricing = {quota, slots, paces: await listPaces(db, connector.id)}
  const usual = priceCalls({plan, ...pricing})
  const exported = forecastSnapshotRoute({
    flows,
    connector,
    columns: facts.columns,
    sizes: await listModuleSizes(db, connector.id),
    queried: usual,
    priceWith: exports => {
      const exporting = planCalls(flows, {...facts, exports})
      takeQueriesOf(exporting, {...shares, flows}, 'snapshot')
      return priceCalls({plan: exporting, ...pricing})
    },
  })
  const inBulk = forecastBulkRoute({
    flows,
    hasBulk: countsCredits(connector.kind) && findHosts(config, connector.dc)?.content !== undefined,
    byRecords: usual,
    priceWith: bulkFlows => {
      const inJobs = planCalls(flows, {...facts, bulkFlows})
      takeQueriesOf(inJobs, {...shares, flows}, 'query')
      return priceCalls({plan: inJobs, ...pricing})
    },
  })
  const forecast = priceRun({
    plan,
    ...pricing,
    now: Date.now(),
    others: [exported, inBulk],
    rows: flows.reduce((sum, {tally}) => sum + tally.rows, 0),
    basis: shares.modules ? (shares.isDryRun ? 'dry_run' : 'last_run') : 'file',
    verifyAll: countsCredits(connector.kind) ? priceVerification(flows, facts) : spanOf(0),
  })
  await db.transaction(async tx => {
    if (!isThere(await lockImport(tx, {org: forecastRef.org, id: forecastRef.importId}))) throw gone()
    await replaceForecast(tx, {importNo: found.no, ground: input.ground, discovery: snapshot.discovery, forecast})
  })
  return forecast
}

const gone = () => new Refusal('IMPORT_NOT_FOUND', 'This import no longer exists: it was deleted or has expired')
const isThere = (found: Import | null): found is Import => found !== null && found.state !== 'expired'

const readInput = async (tx: Tx, {org, importId}: ForecastRef): Promise<ForecastInput> => {
  const found = await findImport(tx, {org, id: importId})
  if (!isThere(found)) throw gone()
  // The digest of the inputs (`ground`) is read first, so a later change can only make the forecast look outdated.
  const ground = await findForecastGround(tx, found.no)
  const connector = await readConnector(tx, found.connectorId)
  if (!connector) throw new Refusal('CONNECTION_NOT_FOUND', 'The connection of this import no longer exists. Choose another connection')
  const snapshot = await freezeImport(tx, {org, found}, {before: null})
  const shares = await findShares(tx, {org, found})
  return {found, snapshot, connector, ground, shares, stores: (await findUndoDays(tx, org)) !== null}
}

/** Returns the limits of one call at the destination. */
const readFacts = ({kind, capabilities}: ConnectorRow) =>
  countsCredits(kind)
    ? {columns: capabilities.coqlColumns - 2, valuesPerQuery: openQueryLimits(capabilities).valuesPerQuery, fieldsPerRead}
    : {columns: Number.POSITIVE_INFINITY, valuesPerQuery: genericValuesPerQuery, fieldsPerRead: Number.POSITIVE_INFINITY}

const isRecent = ({db, config}: Work, {dc, crmOrgId, capabilities}: ConnectorRow) =>
  isWrittenRecently(db, {dc, crmOrgId, run: 0, seconds: Math.max(config.CRM_LAG_SECONDS, 2 * capabilities.coqlLagSeconds)})

const tallyFlows = async (work: Work, {snapshot, connector, shares}: ForecastInput, valuesPerQuery: number): Promise<PlannedFlow[]> => {
  const compiledFlows = compileFlows(snapshot)
  const expressions = openExpressions({dryRun: true, engine: 'worker'})
  const progress = openProgress(work, compiledFlows)
  const tally = (flow: CompiledFlow, onRead: (rows: number) => Promise<void>) =>
    tallyOrNothing({place: work, flow, expressions, signal: work.signal, valuesPerQuery, onRead})
  const planned: PlannedFlow[] = []
  const steps = shares.dryRun === null ? null : await countPlannedSteps(work, {run: shares.dryRun, snapshot, signal: work.signal})
  try {
    for (const flow of compiledFlows) {
      const snapshotFlow = snapshot.flows.find(({no}) => no === flow.no)!
      const late = compilePatchPlan(snapshotFlow, snapshot)
      const rows = await tally(flow, progress)
      const isOnlyFlow = !late && snapshot.flows.filter(({moduleNo}) => moduleNo === flow.module.no).length === 1
      const share = shares.modules?.get(flow.module.apiName) ?? null
      const own = steps?.get(flow.no) ?? null
      planned.push({
        flow,
        tally: rows,
        steps: own,
        written: countWritten(flow, rows, {share, isDryRun: shares.isDryRun, isOnlyFlow, steps: own}),
        patch: late && {flow: late, tally: await tally(late, async () => {})},
        tags: (snapshotFlow.flow.tags?.length ?? 0) > 0 && countsCredits(connector.kind),
      })
    }
    return planned
  } finally {
    await expressions.close()
  }
}

type TallyInput = Parameters<typeof tallyRows>[0] & {expressions: Expressions}

/** Throws NOT_READY if a run could not read the file to its end. */
const tallyOrNothing = async (input: TallyInput): Promise<FlowTally> => {
  try {
    return await tallyRows(input)
  } catch (error) {
    if (!(error instanceof RunStopped)) throw error
    throw new Refusal('NOT_READY', `${error.stop.message}. Check the import, then forecast it again`)
  }
}

const reportEveryMs = 1_000

const openProgress = ({db, job}: Work, compiledFlows: CompiledFlow[]) => {
  const total = compiledFlows.reduce((sum, {source}) => sum + source.rows, 0)
  let [done, reportedAt] = [0, performance.now()]
  return async (rows: number) => {
    done += rows
    if (performance.now() - reportedAt < reportEveryMs) return
    reportedAt = performance.now()
    await setJobProgress(db, {id: job.id, done, total, unit: 'rows'})
  }
}

type MeasuredQueries = Pick<WrittenShares, 'isDryRun' | 'cost' | 'match'> & {flows: PlannedFlow[]}

/**
 * Narrows the cost of queries to the cost that a dry run with the same run route had. The real run makes the same queries. If a query may find no
 * record, adds the control calls. The dry run may have saved them, because it knew a control already.
 */
export const takeQueriesOf = (plan: CallPlan, {isDryRun, cost, match, flows}: MeasuredQueries, route: 'query' | 'snapshot') => {
  if (!isDryRun || !cost || match !== route) return
  const mayFindNothing = flows.some(({steps, tally}) => !steps || steps.creates + steps.refused > 0 || tally.lookups.size > 0)
  for (const kind of ['query', 'search', 'users']) {
    const planned = plan.get(kind)
    const {calls, credits} = cost[kind] ?? {calls: 0, credits: 0}
    const reserve = kind === 'query' && mayFindNothing ? plan.get(CONTROLS) : undefined
    if (planned)
      plan.set(kind, {
        calls: nearOf(planned.calls, calls, reserve?.calls.max ?? 0),
        credits: nearOf(planned.credits, credits, reserve?.credits.max ?? 0),
      })
  }
}

/** Narrows a range to a measured number, with a reserve. */
const nearOf = ({min, max}: CountSpan, measured: number, reserve: number): CountSpan =>
  spanOf(Math.min(min, measured), Math.max(min, measured, Math.min(max, Math.max(min, measured) + reserve)))
