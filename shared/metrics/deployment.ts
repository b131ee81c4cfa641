import {statfs} from 'node:fs/promises'
import {type Gauge, Registry} from 'prom-client'
import type {Hot, Pool} from '../../sql/database.ts'
import {readFigures} from '../../sql/figures.ts'
import {readMigrationState} from '../../sql/health.ts'
import type {Config} from '../config.ts'
import {jobs} from '../jobs.ts'
import type {Log} from '../log.ts'
import {gauge} from './registry.ts'

type Tools = {db: Pool; hot: Hot; config: Pick<Config, 'STORAGE_DIR' | 'S3_BUCKET'>; log: Log}

/** Figures of all processes together, the same whoever is scraped: to be taken as a maximum, never as a sum. */
type DeploymentFigures = {text(): Promise<string>}

/** However many scrape, the database is asked once in so long by each process. */
const keptMs = 10_000
/** A scrape does not wait for a database that hangs; who reads it learns that it does. */
const withinMs = 3_000

export const openDeploymentFigures = (tools: Tools, {keepMs = keptMs}: {keepMs?: number} = {}): DeploymentFigures => {
  const registry = new Registry()
  const gauges = declare(registry)
  let kept: {at: number; reading: Promise<string>} | null = null
  let isReading = false

  const read = async () => {
    isReading = true
    try {
      await fill(gauges, tools)
      return `${await registry.metrics()}${describedVerdict}${verdict} 1\n`
    } catch (err) {
      tools.log.warn({err}, 'figures not read')
      return notRead
    } finally {
      isReading = false
    }
  }

  return {
    async text() {
      if (!isReading && (!kept || performance.now() - kept.at > keepMs)) kept = {at: performance.now(), reading: read()}
      return soon(kept!.reading)
    },
  }
}

const verdict = 'lading_deployment_read'
const describedVerdict = `# HELP ${verdict} 1 when the figures of the deployment could be read from Postgres, else 0 and there are none\n# TYPE ${verdict} gauge\n`
/** Instead of old figures, which would look like good ones. */
const notRead = `${describedVerdict}${verdict} 0\n`

/** Each with what its two columns of a figure are called; where there are none the figure is one number. */
const FIGURES: Record<string, [help: string, a?: string, b?: string]> = {
  deployment_read_seconds: ['How long reading them took'],
  migrations_pending: ['Migrations this build brings that the database has not seen'],
  queue_jobs: ['Jobs by queue: waiting and due, deferred, active, and failed for good within the last day', 'queue', 'state'],
  queue_oldest_seconds: ['How long the oldest of them has been so', 'queue', 'state'],
  runs: ['Runs under way by state, and why paused ones lie', 'state', 'reason'],
  runs_unowned: ['Runs that could go on and that nobody carries: no lease is held on them'],
  runs_unowned_seconds: ['How long the longest of them has been left'],
  leases: ['Runs somebody carries, by a lease that lives'],
  lease_shortest_seconds: ['What is left of the lease renewed longest ago'],
  runs_stopped: ['Runs of the last hour that stopped before their file’s end, among the newest 2,000', 'reason'],
  questions_open: ['Questions nobody answered, of the newest 2,000 runs, at most 10,000'],
  rows_unsettled: ['Rows of ended runs of which nobody knows whether the CRM has them, at most 10,000'],
  crm_allowances_spent: ['CRM orgs whose credits of the day are used up: one call a minute goes through'],
  crm_allowance_spent_seconds: ['For how long, the longest of them'],
  crm_slots: ['Calls at once at all CRM orgs together: held, in use, wanted', 'state'],
  crm_budgets_cut: ['CRM orgs whose concurrency budget was cut because they asked to slow down'],
  connections: ['Connections to CRMs by state', 'state'],
  connections_paused: ['Connections through which nothing is written because a person paused it'],
  deliveries: ['Notices on their way', 'channel'],
  mail_due_seconds: ['How long the mail due longest has been due'],
  notice_seconds: ['How long the oldest notice has waited to be handed out'],
  endpoints_failing: ['Webhook endpoints that are on and fail'],
  endpoint_failing_seconds: ['How long the one has been failing that fails longest'],
  schedules_overdue: ['Schedules whose time has come and that no clock has fired'],
  schedule_overdue_seconds: ['How long the longest of them has been overdue'],
  firings_left: ['Firings nobody is at'],
  schedules_stopped: ['Schedules the service turned off'],
  payment_events: ['Events of the payment provider that are not applied', 'status'],
  payment_event_seconds: ['How old the oldest of them is'],
  plan_changes_open: ['Plan changes whose outcome is not known'],
  plans_ending_early: ['Yearly plans with overage that end before their paid period'],
  topups_open: ['Top-ups whose outcome is not known'],
  overage_unsent_seconds: ['How old the oldest rows are that the provider’s meter was not told of'],
  storage_moves: ['Ended runs whose records are still to be moved to storage'],
  storage_move_seconds: ['How long ago the one ended that waits longest'],
  storage_move_tries: ['How often the one was tried that was tried most'],
  storage_removals: ['Objects to be removed from storage, at most 10,000'],
  storage_bytes: ['The disk under STORAGE_DIR, where files are kept on one', 'state'],
  retention_failures: ['Steps of the last night’s retention that failed'],
  database_connections: ['Connections to the Postgres server: used, and the most it takes', 'state'],
  database_bytes: ['How large the database is'],
}

type Gauges = Record<string, Gauge>

const declare = (registry: Registry): Gauges =>
  Object.fromEntries(
    Object.entries(FIGURES).map(([name, [help, ...labels]]) => [
      name,
      gauge({name, help, labels: labels.filter(label => label !== undefined)}, registry),
    ]),
  )

/** Whatever is no longer so is gone; a queue without jobs says 0, so that an alert may ask for it. */
const fill = async (gauges: Gauges, tools: Tools) => {
  const since = performance.now()
  const [figures, {pending}, disk] = await Promise.all([readFigures(tools.db), readMigrationState(tools.hot), readDisk(tools)])
  for (const one of Object.values(gauges)) one.reset()
  for (const {name: queue} of jobs)
    for (const state of ['waiting', 'deferred', 'active', 'failed']) gauges.queue_jobs!.set({queue, state}, 0)
  for (const {figure, a, b, value} of figures) {
    const [, one, other] = FIGURES[figure]!
    gauges[figure]!.set({...(one && {[one]: a}), ...(other && {[other]: b})}, value)
  }
  for (const [state, bytes] of Object.entries(disk)) gauges.storage_bytes!.set({state}, bytes)
  gauges.migrations_pending!.set(pending.length)
  gauges.deployment_read_seconds!.set((performance.now() - since) / 1000)
}

/** Of the disk where files lie on one; a bucket has no end. */
const readDisk = async ({config}: Tools): Promise<Record<string, number>> => {
  if (config.S3_BUCKET !== undefined) return {}
  const disk = await statfs(config.STORAGE_DIR).catch(() => null)
  return disk ? {free: disk.bavail * disk.bsize, total: disk.blocks * disk.bsize} : {}
}

const soon = async (reading: Promise<string>): Promise<string> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<string>(resolve => {
    timer = setTimeout(resolve, withinMs, notRead)
  })
  const text = await Promise.race([reading, late])
  clearTimeout(timer)
  return text
}
