import {z} from 'zod'
import {QuotaCheck} from './crm/limits/quota-report.ts'
import {type Job, job} from './queue.ts'
import {Forecast} from './runs/forecast/forecast.ts'

/**
 * Reads a connection's modules and fields from the CRM and stores them as a discovery. One such job runs at a time per connection. `upkeep`:
 * background work, which stores no discovery if nothing changed. Such a job never makes the one probe call a minute that an exhausted CRM quota still
 * allows.
 */
export const runDiscovery = job({
  name: 'discovery.run',
  payload: z.object({org: z.string(), connector: z.string(), upkeep: z.boolean().default(false)}),
  answer: z.object({discovery: z.string(), modules: z.number(), fields: z.number()}),
  policy: {policy: 'exclusive', retryLimit: 2, retryDelay: 5, expireInSeconds: 900, heartbeatSeconds: 60, deleteAfterSeconds: 86_400},
  key: ({connector}) => connector,
})

/** Runs the doctor on a connection and stores the report. A caller waits for the result, so the job is tried once. */
export const runDoctor = job({
  name: 'doctor.run',
  payload: z.object({org: z.string(), connector: z.string(), write: z.boolean().default(false)}),
  answer: z.object({expected: z.number(), different: z.number(), unknown: z.number(), credits: z.number()}),
  policy: {policy: 'exclusive', retryLimit: 0, expireInSeconds: 600, heartbeatSeconds: 60, deleteAfterSeconds: 86_400},
  key: ({connector}) => connector,
})

/**
 * Executes a run under the run's lease. A second delivery of the job finds the lease taken and ends. A run may outlive its job: the sweep
 * enqueues another job when the lease expires.
 */
export const runImport = job({
  name: 'import.run',
  payload: z.object({org: z.string(), run: z.string()}),
  answer: z.object({state: z.enum(['ended', 'held', 'released'])}),
  policy: {
    policy: 'short',
    retryLimit: 5,
    retryDelay: 1,
    retryBackoff: true,
    expireInSeconds: 86_000,
    heartbeatSeconds: 60,
    deleteAfterSeconds: 86_400,
  },
  key: ({run}) => run,
})

const wholeImport = {
  policy: 'exclusive',
  retryLimit: 3,
  retryDelay: 2,
  retryBackoff: true,
  expireInSeconds: 43_200,
  heartbeatSeconds: 60,
  deleteAfterSeconds: 86_400,
} as const

/**
 * Reads every row of an import as a run would, and stores the findings. One such job runs at a time per import. After a crash, the job starts
 * again.
 */
export const checkImport = job({
  name: 'import.check',
  payload: z.object({org: z.string(), import: z.string()}),
  answer: z.object({rows: z.number(), errors: z.number(), warnings: z.number()}),
  policy: wholeImport,
  key: payload => payload.import,
})

/**
 * After a discovery found changes, checks the newest imports of the connection's 20 most recently used templates. Leaves out imports of more than
 * 500,000 rows, and imports without a changed module. A job reads the newest discovery when it starts, so one waiting job per connection is enough.
 */
export const recheckTemplates = job({
  name: 'templates.recheck',
  payload: z.object({org: z.string(), connector: z.string()}),
  answer: z.object({templates: z.number(), broken: z.number()}),
  policy: {policy: 'short', retryLimit: 3, retryDelay: 30, expireInSeconds: 43_200, heartbeatSeconds: 60, deleteAfterSeconds: 86_400},
  key: ({connector}) => connector,
})

/** Reads every row of an import as a run would, and stores what the run would cost at the CRM. One such job runs at a time per import. */
export const forecastImport = job({
  name: 'import.forecast',
  payload: z.object({org: z.string(), import: z.string()}),
  answer: Forecast,
  policy: wholeImport,
  key: payload => payload.import,
})

/**
 * Executes a firing of a schedule under the firing's lease. A second delivery of the job finds the lease taken and ends. The periodic task for
 * schedules enqueues another job for a firing without a lease.
 */
export const fireSchedule = job({
  name: 'schedule.fire',
  payload: z.object({org: z.string(), firing: z.string()}),
  answer: z.object({state: z.enum(['running', 'ended', 'waiting', 'held'])}),
  policy: {policy: 'short', retryLimit: 0, expireInSeconds: 7_200, heartbeatSeconds: 60, deleteAfterSeconds: 86_400},
  key: ({firing}) => firing,
})

/**
 * Fetches the file of a schedule and stores what it is, without an import. A person waits for the result, so the job is tried once. The key contains
 * `version`, so that a test of changed settings does not join a job that reads the old ones. The previous release sends no `version`.
 */
export const testSchedule = job({
  name: 'schedule.test',
  payload: z.object({org: z.string(), schedule: z.string(), version: z.number().optional()}),
  answer: z.object({fetched: z.boolean()}),
  policy: {policy: 'exclusive', retryLimit: 0, expireInSeconds: 2_400, heartbeatSeconds: 60, deleteAfterSeconds: 3_600},
  key: ({schedule, version}) => (version === undefined ? schedule : `${schedule} ${version}`),
})

/**
 * Mails an invitation. Sends nothing if the invitation cannot be accepted any more or was mailed within the last hour. Sends nothing either if the
 * org mailed 100 invitations within the last day.
 */
export const mailInvitation = job({
  name: 'invitation.mail',
  payload: z.object({org: z.string(), invitation: z.string()}),
  answer: z.object({mailed: z.boolean()}),
  policy: {
    policy: 'exclusive',
    retryLimit: 5,
    retryDelay: 10,
    retryBackoff: true,
    expireInSeconds: 300,
    heartbeatSeconds: 60,
    deleteAfterSeconds: 86_400,
  },
  key: ({invitation}) => invitation,
})

/** Erases an org step by step, the org itself last. After a failure, the next attempt begins again and works on what is left. */
export const eraseOrg = job({
  name: 'org.erase',
  payload: z.object({org: z.string()}),
  answer: z.object({rows: z.number()}),
  policy: {
    policy: 'exclusive',
    retryLimit: 50,
    retryDelay: 2,
    retryBackoff: true,
    retryDelayMax: 600,
    expireInSeconds: 86_000,
    heartbeatSeconds: 60,
    deleteAfterSeconds: 7 * 86_400,
  },
  key: ({org}) => org,
})

/**
 * Reads a CRM org's licence and remaining quota, at most every 30 s per connection. While the quota is exhausted, makes only the allowed probe call.
 * A caller waits for the result, so the job is tried once.
 */
export const checkCredits = job({
  name: 'credits.check',
  payload: z.object({org: z.string(), connector: z.string()}),
  answer: QuotaCheck,
  policy: {retryLimit: 0, expireInSeconds: 600, heartbeatSeconds: 60, deleteAfterSeconds: 3600},
})

/**
 * Settings of jobs that send one request of an external engine. Request and result are stored under the write's id. The job is tried once, so an
 * unanswered write is not repeated automatically.
 */
const oneWrite = {
  payload: z.object({org: z.string(), write: z.string()}),
  answer: z.object({write: z.string()}),
  policy: {retryLimit: 0, expireInSeconds: 900, heartbeatSeconds: 60, deleteAfterSeconds: 86_400},
}
export const writeRecords = job({name: 'records.write', ...oneWrite})
export const replaceRows = job({name: 'rows.replace', ...oneWrite})

/** Settings of short jobs whose state is a database row. After five retries, a periodic task continues from the row. */
const overAtOnce = {
  retryLimit: 5,
  retryDelay: 2,
  retryBackoff: true,
  expireInSeconds: 300,
  heartbeatSeconds: 60,
  deleteAfterSeconds: 86_400,
}

/**
 * Applies an event of the payment provider, unless its row is already applied. If another process has the org's billing lock, the job only defers the
 * event. When that process releases the lock, it enqueues one job, which applies all deferred events of the org.
 */
export const applyPaymentEvent = job({
  name: 'payment.event',
  payload: z.object({event: z.string()}),
  answer: z.object({status: z.enum(['received', 'processing', 'processed', 'ignored', 'deferred', 'failed'])}),
  policy: {policy: 'short', ...overAtOnce},
  key: ({event}) => event,
})

/**
 * Executes a top-up by the state of its row. The charge has one idempotency key, so a second delivery of the job charges nothing. A periodic
 * task resolves a top-up whose outcome is unknown.
 */
export const chargeTopup = job({
  name: 'billing.topup',
  payload: z.object({org: z.string(), attempt: z.string()}),
  answer: z.object({state: z.enum(['pending', 'unknown', 'succeeded', 'declined', 'failed', 'gone'])}),
  policy: {policy: 'exclusive', ...overAtOnce},
  key: ({attempt}) => attempt,
})

/** Ends the paid subscription of a closed org. While the provider is unavailable, the job is retried for about a day. */
export const endBilling = job({
  name: 'billing.end',
  payload: z.object({org: z.string()}),
  answer: z.object({ended: z.boolean()}),
  policy: {
    policy: 'exclusive',
    retryLimit: 150,
    retryDelay: 2,
    retryBackoff: true,
    retryDelayMax: 600,
    expireInSeconds: 300,
    heartbeatSeconds: 60,
    deleteAfterSeconds: 7 * 86_400,
  },
  key: ({org}) => org,
})

export const jobs: Job[] = [
  chargeTopup,
  endBilling,
  applyPaymentEvent,
  writeRecords,
  replaceRows,
  checkCredits,
  runDiscovery,
  runDoctor,
  runImport,
  checkImport,
  forecastImport,
  recheckTemplates,
  eraseOrg,
  fireSchedule,
  testSchedule,
  mailInvitation,
]
