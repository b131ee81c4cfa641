import {statfs} from 'node:fs/promises'
import {type Gauge, Registry} from 'prom-client'
import type {Hot, Pool} from '../../../sql/database.ts'
import {readFigures} from '../../../sql/figures.ts'
import {readMigrationState} from '../../../sql/health.ts'
import type {Config} from '../../config.ts'
import {jobs} from '../../jobs.ts'
import type {Log} from '../log.ts'
import {gauge} from './registry.ts'

type DeploymentDeps = {db: Pool; hot: Hot; config: Pick<Config, 'STORAGE_DIR' | 'S3_BUCKET' | 'LEASE_SECONDS'>; log: Log}

/** Metrics of the whole deployment. Every process returns the same values, so aggregate them with max, never with sum. */
type DeploymentFigures = {text(): Promise<string>}

/** Each process queries the database at most once in this interval, however often it is scraped. */
const keptMs = 10_000
/** The longest wait of a scrape for a hanging database. Afterwards the scrape reports that the read failed. */
const withinMs = 3_000

export const openDeploymentFigures = (deps: DeploymentDeps, {keepMs = keptMs}: {keepMs?: number} = {}): DeploymentFigures => {
  const registry = new Registry()
  const gauges = declare(registry)
  let kept: {at: number; reading: Promise<string>} | null = null
  let isReading = false

  const read = async () => {
    isReading = true
    try {
      await fill(gauges, deps)
      return `${await registry.metrics()}${describedVerdict}${verdict} 1\n`
    } catch (err) {
      deps.log.warn({err}, 'could not read the metrics of the deployment')
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
const describedVerdict = `# HELP ${verdict} 1 if the metrics of the deployment could be read from Postgres; otherwise 0, and they are absent\n# TYPE ${verdict} gauge\n`
/** The text if the read fails. Old values are not returned, because they would look current. */
const notRead = `${describedVerdict}${verdict} 0\n`

/** The help text of each metric, and the names of its label columns, at most two. A metric without labels is one number. */
const FIGURES: Record<string, [help: string, a?: string, b?: string]> = {
  deployment_read_seconds: ['Duration of reading these metrics'],
  migrations_pending: ['Migrations of this release that the database lacks'],
  queue_jobs: ['Jobs by queue: waiting and due, deferred, active, and failed for good while the queue keeps them', 'queue', 'state'],
  queue_oldest_seconds: ['Age of the oldest of these jobs in its state', 'queue', 'state'],
  queue_failures: ['Jobs that failed for good within the last 15 minutes', 'queue'],
  runs: ['Active runs by state, and why runs are paused', 'state', 'reason'],
  runs_unowned: ['Runs that could continue but have no lease holder'],
  runs_unowned_seconds: ['Longest time for which one of them has had no lease holder'],
  leases: ['Runs with a valid lease'],
  lease_seconds: ['Duration of a lease after its renewal, LEASE_SECONDS'],
  lease_shortest_seconds: ['Remaining time of the lease that was renewed longest ago'],
  runs_stopped: ['Runs of the last hour that stopped before the end of their file, among the newest 2,000', 'reason'],
  questions_open: ['Open questions of the newest 2,000 runs, at most 10,000'],
  rows_unsettled: ['Rows with an unknown outcome in the CRM, of runs that ended within the last hour, at most 10,000'],
  crm_allowances_spent: ['CRM orgs with an exhausted daily quota, to which one call a minute is sent'],
  crm_allowance_spent_seconds: ['Longest time for which one of them has been exhausted'],
  crm_slots: ['Concurrency slots of all CRM orgs together: held, in use, wanted', 'state'],
  crm_budgets_cut: ['CRM orgs whose concurrency budget was cut because of a rate limit'],
  connections: ['Connections to CRMs by state', 'state'],
  connections_paused: ['Connections with writes paused by a user'],
  deliveries: ['Pending deliveries of notifications', 'channel'],
  mail_due_seconds: ['Longest delay of a due e-mail'],
  notice_seconds: ['Age of the oldest notification that is not yet distributed'],
  endpoints_failing: ['Enabled webhook endpoints that fail and have a notice to deliver'],
  endpoint_failing_seconds: ['Longest time for which one of them has failed'],
  schedules_overdue: ['Schedules that are due and have not fired'],
  schedule_overdue_seconds: ['Longest delay of an overdue schedule'],
  firings_left: ['Firings that no worker executes'],
  schedules_stopped: ['Schedules that the service stopped'],
  payment_events: ['Events of the payment provider that are not applied', 'status'],
  payment_event_seconds: ['Age of the oldest event of the payment provider that is not applied and was not given up'],
  plan_changes_open: ['Plan changes with an unknown outcome'],
  plans_ending_early: ['Yearly plans with overage that end before their paid period'],
  topups_open: ['Top-ups with an unknown outcome'],
  overage_unsent_seconds: ['Age of the oldest overage rows that were not reported to the provider’s meter'],
  storage_moves: ['Ended runs whose records are not yet moved to storage'],
  storage_move_seconds: ['Longest time since the end of such a run'],
  storage_move_tries: ['Most attempts to move one of them'],
  storage_removals: ['Objects that are pending removal from storage, at most 10,000'],
  storage_bytes: ['Space of the disk under STORAGE_DIR, if files are stored on a disk', 'state'],
  retention_failures: ['Failed steps of the last nightly retention'],
  database_connections: ['Connections to the Postgres server: used, and the limit', 'state'],
  database_bytes: ['Size of the database'],
}

type Gauges = Record<string, Gauge>

const declare = (registry: Registry): Gauges =>
  Object.fromEntries(
    Object.entries(FIGURES).map(([name, [help, ...labels]]) => [
      name,
      gauge({name, help, labels: labels.filter(label => label !== undefined)}, registry),
    ]),
  )

/** Replaces all values. A queue without jobs reports 0, because alerts and autoscaling cannot compare a missing value. */
const fill = async (gauges: Gauges, deps: DeploymentDeps) => {
  const since = performance.now()
  const [figures, {pending}, disk] = await Promise.all([readFigures(deps.db), readMigrationState(deps.hot), readDisk(deps)])
  for (const one of Object.values(gauges)) one.reset()
  for (const {name: queue} of jobs) {
    gauges.queue_failures!.set({queue}, 0)
    for (const state of ['waiting', 'deferred', 'active', 'failed'])
      for (const figure of ['queue_jobs', 'queue_oldest_seconds']) gauges[figure]!.set({queue, state}, 0)
  }
  for (const {figure, a, b, value} of figures) {
    const [, one, other] = FIGURES[figure]!
    gauges[figure]!.set({...(one && {[one]: a}), ...(other && {[other]: b})}, value)
  }
  for (const [state, bytes] of Object.entries(disk)) gauges.storage_bytes!.set({state}, bytes)
  gauges.lease_seconds!.set(deps.config.LEASE_SECONDS)
  gauges.migrations_pending!.set(pending.length)
  gauges.deployment_read_seconds!.set((performance.now() - since) / 1000)
}

/** Reads the free and total space on the disk of a local storage folder. A bucket has no limit. */
const readDisk = async ({config}: DeploymentDeps): Promise<Record<string, number>> => {
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
