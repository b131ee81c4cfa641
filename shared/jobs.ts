import {z} from 'zod'
import {CreditCheck} from './crm/credits.ts'
import {type Job, job} from './queue.ts'

/**
 * Reads a connection's modules and fields from the CRM and keeps them as a snapshot with its diff. One at a time per connection.
 * `upkeep`: nobody asked, so it takes nothing of a spent day.
 */
export const runDiscovery = job({
  name: 'discovery.run',
  payload: z.object({org: z.string(), connector: z.string(), upkeep: z.boolean().default(false)}),
  answer: z.object({discovery: z.string(), modules: z.number(), fields: z.number()}),
  policy: {policy: 'exclusive', retryLimit: 2, retryDelay: 5, expireInSeconds: 900, heartbeatSeconds: 60, deleteAfterSeconds: 86_400},
  key: ({connector}) => connector,
})

/**
 * Says "look at this run". The run's lease is the truth, so a second delivery finds the run held and ends. A run may
 * outlive its job: the sweep enqueues another one when a lease dies.
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

/** Reads every row of an import as a run would, and keeps what it found. One at a time per import; one that died is begun again. */
export const checkImport = job({
  name: 'import.check',
  payload: z.object({org: z.string(), import: z.string()}),
  answer: z.object({rows: z.number(), errors: z.number(), warnings: z.number()}),
  policy: {
    policy: 'exclusive',
    retryLimit: 3,
    retryDelay: 2,
    retryBackoff: true,
    expireInSeconds: 43_200,
    heartbeatSeconds: 60,
    deleteAfterSeconds: 86_400,
  },
  key: payload => payload.import,
})

/**
 * Says "look at this firing of a schedule". The firing's lease is the truth, so a second delivery finds it held and ends; the clock
 * enqueues another one for a firing nobody is at.
 */
export const fireSchedule = job({
  name: 'schedule.fire',
  payload: z.object({org: z.string(), firing: z.string()}),
  answer: z.object({state: z.enum(['running', 'ended', 'waiting', 'held'])}),
  policy: {policy: 'short', retryLimit: 0, expireInSeconds: 7_200, heartbeatSeconds: 60, deleteAfterSeconds: 86_400},
  key: ({firing}) => firing,
})

/** Erases an org, step by step, the org itself last: whatever breaks, the next attempt goes on where this one stood. */
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

/** Asks a CRM org for its licence and what is left of its day, where it may be asked. Somebody waits for it, so it is tried once. */
export const checkCredits = job({
  name: 'credits.check',
  payload: z.object({org: z.string(), connector: z.string()}),
  answer: CreditCheck,
  policy: {retryLimit: 0, expireInSeconds: 600, heartbeatSeconds: 60, deleteAfterSeconds: 3600},
})

/**
 * One request of an outside engine: records to create or update, or parents whose rows are replaced. What is to be written, and what
 * came of it, stand under the write's id. Sent once: a write nobody answered is not sent again by itself.
 */
const oneWrite = {
  payload: z.object({org: z.string(), write: z.string()}),
  answer: z.object({write: z.string()}),
  policy: {retryLimit: 0, expireInSeconds: 900, heartbeatSeconds: 60, deleteAfterSeconds: 86_400},
}
export const writeRecords = job({name: 'records.write', ...oneWrite})
export const replaceRows = job({name: 'rows.replace', ...oneWrite})

/** For what is over within minutes and leaves its truth in a row: tried again a few times, and found by somebody's rounds after that. */
const overAtOnce = {
  ...{retryLimit: 5, retryDelay: 2, retryBackoff: true},
  ...{expireInSeconds: 300, heartbeatSeconds: 60, deleteAfterSeconds: 86_400},
}

/**
 * Says "apply this event of the payment provider's". The event's row is the truth: one that is applied, or whose org's billing somebody holds, is
 * left as it is; whoever gives the org back sends the job again.
 */
export const applyPaymentEvent = job({
  name: 'payment.event',
  payload: z.object({event: z.string()}),
  answer: z.object({status: z.enum(['received', 'processing', 'processed', 'ignored', 'deferred', 'failed'])}),
  policy: {policy: 'short', ...overAtOnce},
  key: ({event}) => event,
})

/**
 * Says "look at this top-up". Its row is the truth, and what is charged is charged under one key: a second delivery does nothing twice. One whose
 * outcome nobody knows is looked at again by the worker's rounds.
 */
export const chargeTopup = job({
  name: 'billing.topup',
  payload: z.object({org: z.string(), attempt: z.string()}),
  answer: z.object({state: z.enum(['pending', 'unknown', 'succeeded', 'declined', 'failed', 'gone'])}),
  policy: {policy: 'exclusive', ...overAtOnce},
  key: ({attempt}) => attempt,
})

/** Ends what a closed org pays for. Tried for about a day while the provider is away. */
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
  runImport,
  checkImport,
  eraseOrg,
  fireSchedule,
]
