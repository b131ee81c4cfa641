import {setTimeout as sleep} from 'node:timers/promises'
import {type CrmOrg, clearSpent, isSpent, keepRemaining, keepSpent, takeProbe} from '../../sql/allowances.ts'
import {Refusal} from '../errors.ts'
import type {Answer} from './client.ts'
import type {CrmTools} from './crm.ts'
import type {CrmProblem} from './error.ts'
import {listIn, type Outcome, readProblem} from './outcome.ts'

/** While a CRM org has no credits left, one call a minute goes through. Source: the specification's States and Limits. */
const probeSeconds = 60
/** How late this process may learn what another one was told. Until then the CRM itself refuses. */
const lookAgainMs = 5_000
/** How often a count that moves with every call is written down. */
const countAgainMs = 10_000
/** How long calls of this process wait for the one let through, so that work which goes on is not refused beside it. */
const waitForProbeMs = 5_000

type Asking = {
  /** Nobody asked for it: it never takes the minute's call. */
  upkeep: boolean
  /** What this call hears of the credits is written down at once. */
  exact: boolean
  /** It goes as the minute's call or not at all. */
  onlyAsProbe: boolean
}
export type Pass = {note(outcome: Outcome): Promise<void>; leave(): void}
export type Allowances = {
  /** Reads again what other processes know. */
  look(org: CrmOrg): Promise<void>
  /** Before a call: throws DAILY_ALLOWANCE_SPENT where it may not be sent. The pass is told every answer, and given back. */
  enter(org: CrmOrg, asking: Asking): Promise<Pass>
}

type Known = {spent: boolean; changes: number; lookedAt: number; written: number | null; writtenAt: number; probe: Promise<void> | null}
type Tools = Pick<CrmTools, 'db' | 'log'>

/**
 * What each CRM org said of its rolling 24-hour credits: kept in Postgres, shared by every connection to that org, and known here
 * without asking for every call. `spent` is set by a 429 that carries the header at zero or below, and lifted by the first call that
 * is sent after that and done as asked; a call already under way when the day was spent proves nothing.
 */
export const openAllowances = (tools: Tools): Allowances => {
  const orgs = new Map<string, Known>()
  const knownOf = ({dc, crmOrgId}: CrmOrg) => {
    const key = `${dc}.${crmOrgId}`
    const known = orgs.get(key) ?? {spent: false, changes: 0, lookedAt: -Infinity, written: null, writtenAt: -Infinity, probe: null}
    orgs.set(key, known)
    return known
  }
  const look = async (org: CrmOrg) => {
    const known = knownOf(org)
    const {changes} = known
    known.lookedAt = performance.now()
    const spent = await isSpent(tools.db, org)
    // What this process was told meanwhile is newer.
    if (known.changes === changes) known.spent = spent
  }
  const enter = async (org: CrmOrg, asking: Asking): Promise<Pass> => {
    const known = knownOf(org)
    // What is known goes on being used where Postgres is away for a moment: whoever sends anything asks it for more than this.
    if (performance.now() - known.lookedAt > lookAgainMs) await look(org).catch(err => tools.log.warn({err}, 'allowance not read'))
    const probe = known.spent ? await probeOrRefuse(tools, org, known, asking) : null
    if (asking.onlyAsProbe && !probe) throw spent()
    const pass = {isProbe: probe !== null, exact: asking.exact}
    return {note: outcome => noteSafely(tools, org, known, {...pass, outcome}), leave: () => probe?.resolve()}
  }
  return {look, enter}
}

type Probe = PromiseWithResolvers<void>

/** The minute's call, or null when the day turned out not to be spent any more. */
const probeOrRefuse = async ({db}: Tools, org: CrmOrg, known: Known, {upkeep, onlyAsProbe}: Asking): Promise<Probe | null> => {
  if (upkeep) known.spent = await isSpent(db, org)
  if (upkeep && known.spent) throw spent()
  const answer = known.spent ? await takeProbe(db, org, {seconds: probeSeconds}) : 'not spent'
  if (answer === 'wait' && !onlyAsProbe) return waitForProbe(known)
  if (answer === 'not spent') known.spent = false
  return answer === 'go' ? beginProbe(known) : null
}

const beginProbe = (known: Known): Probe => {
  const probe = Promise.withResolvers<void>()
  known.probe = probe.promise
  void probe.promise.then(() => {
    if (known.probe === probe.promise) known.probe = null
  })
  return probe
}

const waitForProbe = async (known: Known): Promise<null> => {
  const waited = new AbortController()
  const enough = sleep(waitForProbeMs, undefined, {signal: waited.signal}).catch(() => {})
  if (known.probe) await Promise.race([known.probe, enough])
  waited.abort()
  if (known.spent) throw spent()
  return null
}

type Noted = {outcome: Outcome; isProbe: boolean; exact: boolean}

/** The call has been made and its answer is somebody's: that it could not be noted is not their trouble. */
const noteSafely = (tools: Tools, org: CrmOrg, known: Known, noted: Noted) =>
  note(tools.db, org, known, noted).catch(err => tools.log.warn({err}, 'allowance not kept'))

const note = async (db: Tools['db'], org: CrmOrg, known: Known, {outcome, isProbe, exact}: Noted) => {
  if (!('json' in outcome)) return
  const problem = readProblem(outcome)
  if (outcome.status === 429 && problem?.quotaSpent) {
    Object.assign(known, {spent: true, changes: known.changes + 1})
    await keepSpent(db, org)
    return
  }
  if (isProbe && (!problem || isJudged(outcome, problem))) {
    Object.assign(known, {spent: false, changes: known.changes + 1})
    await clearSpent(db, org)
  }
  const remaining = outcome.creditsRemaining
  const isDue = exact || (remaining !== known.written && performance.now() - known.writtenAt > countAgainMs)
  if (remaining === null || !isDue) return
  Object.assign(known, {written: remaining, writtenAt: performance.now()})
  await keepRemaining(db, org, Math.max(0, remaining))
}

/**
 * A batch whose records were refused one by one was taken as asked: it is they that were refused. Were it not so, a run that begins
 * with such a batch every time would never lift the day.
 */
const isJudged = (answer: Answer, {rateLimited}: CrmProblem) => answer.status === 400 && !rateLimited && !!listIn(answer, 'data')?.length

/** No time is promised: the CRM's day is rolling, and names none. */
const spent = () =>
  new Refusal(
    'DAILY_ALLOWANCE_SPENT',
    'The API credits of this CRM for the last 24 hours are used up. One call a minute is let through; the first one answered opens it again',
  )
