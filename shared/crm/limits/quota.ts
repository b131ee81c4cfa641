import {setTimeout as sleep} from 'node:timers/promises'
import {
  type CrmOrg,
  clearQuotaExhausted,
  isQuotaExhausted,
  keepQuotaExhausted,
  keepRemainingQuota,
  takeProbe,
} from '../../../sql/crm-quota.ts'
import {Refusal} from '../../errors.ts'
import type {CrmResponse} from '../client.ts'
import type {CrmDeps} from '../crm.ts'
import type {CrmProblem} from '../error.ts'
import {type CrmCallOutcome, listIn, readProblem} from '../outcome.ts'

/** While the quota of a CRM org is exhausted, one probe call a minute is sent. */
const probeSeconds = 60
/** The minimum time between two reads of the stored state. Between them, this process does not know of changes by other processes. */
const lookAgainMs = 5_000
/** The minimum time between two writes of the remaining credits, which change with every call. */
const countAgainMs = 10_000
/**
 * The maximum time that other calls of this process wait for the probe call. Without the wait, these calls would be refused while the probe call is
 * in flight.
 */
const waitForProbeMs = 5_000
/**
 * The time for which this process sends no `onlyAsProbe` call after a refused one, so that another call can be the probe call. Without this limit, a
 * licence that the CRM always refuses would block every probe.
 */
const leaveProbeMs = 600_000

type QuotaRequest = {
  /** A background call, which never becomes the probe call. */
  upkeep: boolean
  /** Stores the remaining credits, which the answer states, at once. Without this option, they are stored at most every `countAgainMs`. */
  exact: boolean
  /** The call is sent only if it is the probe call, and if no such call was refused within `leaveProbeMs`. */
  onlyAsProbe: boolean
}
export type QuotaPass = {note(outcome: CrmCallOutcome): Promise<void>; leave(): void}
export type CrmQuotas = {
  /** Reads the state that other processes stored. */
  look(org: CrmOrg): Promise<void>
  /**
   * Throws DAILY_ALLOWANCE_SPENT if the CRM call must not be sent. Call this before each CRM call. Pass every answer to `note`, then call
   * `leave`.
   */
  enter(org: CrmOrg, quotaRequest: QuotaRequest): Promise<QuotaPass>
}

type CachedQuota = {
  spent: boolean
  changes: number
  lookedAt: number
  written: number | null
  writtenAt: number
  probe: Promise<void> | null
  leavesProbeUntil: number
}
type QuotaDeps = Pick<CrmDeps, 'db' | 'log'>

/**
 * A quota is a rolling window of 24 hours. Connections to one CRM org share its quota state, which Postgres stores and this process caches. After a
 * 429 with `X-API-CREDITS-REMAINING` of zero or below, the quota is exhausted until the CRM accepts a probe call. The success of another call proves
 * nothing, because that call may have been in flight before.
 */
export const openCrmQuotas = (deps: QuotaDeps): CrmQuotas => {
  const orgs = new Map<string, CachedQuota>()
  const knownOf = ({dc, crmOrgId}: CrmOrg) => {
    const key = `${dc}.${crmOrgId}`
    const cachedQuota = orgs.get(key) ?? newQuota()
    orgs.set(key, cachedQuota)
    return cachedQuota
  }
  const look = async (org: CrmOrg) => {
    const cachedQuota = knownOf(org)
    const {changes} = cachedQuota
    cachedQuota.lookedAt = performance.now()
    const spent = await isQuotaExhausted(deps.db, org)
    // If an answer of the CRM changed the cached state during the query, the cached state is newer.
    if (cachedQuota.changes === changes) cachedQuota.spent = spent
  }
  const enter = async (org: CrmOrg, quotaRequest: QuotaRequest): Promise<QuotaPass> => {
    const cachedQuota = knownOf(org)
    // If Postgres is unavailable, the cached state is used.
    if (performance.now() - cachedQuota.lookedAt > lookAgainMs)
      await look(org).catch(err => deps.log.warn({err}, 'could not read the CRM quota'))
    const probe = cachedQuota.spent ? await probeOrRefuse(deps, org, cachedQuota, quotaRequest) : null
    if (quotaRequest.onlyAsProbe && !probe) throw quotaExhausted()
    const pass = {isProbe: probe !== null, ...quotaRequest}
    return {note: outcome => recordSafely(deps, org, cachedQuota, {...pass, outcome}), leave: () => probe?.resolve()}
  }
  return {look, enter}
}

const newQuota = (): CachedQuota => ({
  spent: false,
  changes: 0,
  lookedAt: -Infinity,
  written: null,
  writtenAt: -Infinity,
  probe: null,
  leavesProbeUntil: -Infinity,
})

type Probe = PromiseWithResolvers<void>

/**
 * Makes this call the probe call if the last probe call is a minute old. Other calls wait for the probe call of this process, then throw if the quota
 * is still exhausted; background calls throw without a wait. Returns null if the quota is not exhausted, or if `onlyAsProbe` is set and another call
 * is or may become the probe call.
 */
const probeOrRefuse = async (
  {db}: QuotaDeps,
  org: CrmOrg,
  cachedQuota: CachedQuota,
  {upkeep, onlyAsProbe}: QuotaRequest,
): Promise<Probe | null> => {
  if (upkeep) cachedQuota.spent = await isQuotaExhausted(db, org)
  if (upkeep && cachedQuota.spent) throw quotaExhausted()
  if (onlyAsProbe && performance.now() < cachedQuota.leavesProbeUntil) return null
  const answer = cachedQuota.spent ? await takeProbe(db, org, {seconds: probeSeconds}) : 'not spent'
  if (answer === 'wait' && !onlyAsProbe) return waitForProbe(cachedQuota)
  if (answer === 'not spent') cachedQuota.spent = false
  return answer === 'go' ? beginProbe(cachedQuota) : null
}

const beginProbe = (cachedQuota: CachedQuota): Probe => {
  const probe = Promise.withResolvers<void>()
  cachedQuota.probe = probe.promise
  void probe.promise.then(() => {
    if (cachedQuota.probe === probe.promise) cachedQuota.probe = null
  })
  return probe
}

const waitForProbe = async (cachedQuota: CachedQuota): Promise<null> => {
  const waited = new AbortController()
  const enough = sleep(waitForProbeMs, undefined, {signal: waited.signal}).catch(() => {})
  if (cachedQuota.probe) await Promise.race([cachedQuota.probe, enough])
  waited.abort()
  if (cachedQuota.spent) throw quotaExhausted()
  return null
}

type QuotaObservation = Pick<QuotaRequest, 'exact' | 'onlyAsProbe'> & {outcome: CrmCallOutcome; isProbe: boolean}

/** Stores what an answer shows about the quota. A failure is only logged, because the caller needs the answer. */
const recordSafely = (deps: QuotaDeps, org: CrmOrg, cachedQuota: CachedQuota, noted: QuotaObservation) =>
  recordOutcome(deps.db, org, cachedQuota, noted).catch(err => deps.log.warn({err}, 'could not store the CRM quota'))

const recordOutcome = async (
  db: QuotaDeps['db'],
  org: CrmOrg,
  cachedQuota: CachedQuota,
  {outcome, isProbe, exact, onlyAsProbe}: QuotaObservation,
) => {
  if (!('json' in outcome)) return
  const problem = readProblem(outcome)
  if (outcome.status === 429 && problem?.quotaSpent) {
    Object.assign(cachedQuota, {spent: true, written: 0, changes: cachedQuota.changes + 1})
    await keepQuotaExhausted(db, org)
    return
  }
  if (onlyAsProbe) cachedQuota.leavesProbeUntil = problem && !problem.retryable ? performance.now() + leaveProbeMs : -Infinity
  if (isProbe && (!problem || isJudged(outcome, problem))) {
    Object.assign(cachedQuota, {spent: false, changes: cachedQuota.changes + 1})
    await clearQuotaExhausted(db, org)
  }
  const remaining = outcome.creditsRemaining
  const isDue = exact || (remaining !== cachedQuota.written && performance.now() - cachedQuota.writtenAt > countAgainMs)
  if (remaining === null || !isDue) return
  Object.assign(cachedQuota, {written: remaining, writtenAt: performance.now()})
  await keepRemainingQuota(db, org, Math.max(0, remaining))
}

/**
 * Returns whether the CRM accepted the call but refused its records one by one. Such an answer to the probe call also ends the exhausted state. If it
 * did not, a run that always begins with a refused batch would wait forever.
 */
const isJudged = (answer: CrmResponse, {rateLimited}: CrmProblem) =>
  answer.status === 400 && !rateLimited && !!listIn(answer, 'data')?.length

/** The refusal has no retry time, because the quota is a rolling window and the CRM sends no time. */
const quotaExhausted = () =>
  new Refusal(
    'DAILY_ALLOWANCE_SPENT',
    'The CRM org has used all its API credits of the last 24 hours. One call a minute is sent, and calls resume when the CRM accepts one',
  )
