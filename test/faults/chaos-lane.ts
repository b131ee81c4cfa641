import {setTimeout as sleep} from 'node:timers/promises'
import type {FaultSpec} from '../simulators/crm/faults.ts'
import {seedOrgs} from '../simulators/crm/seed.ts'
import type {Switches} from '../simulators/crm/switches.ts'
import type {HttpAnswer} from '../support/client.ts'
import type {Deployment} from '../support/deployment.ts'
import {type Org, ok, openOrg} from '../support/importing.ts'
import {prepareFiles} from '../support/lookups.ts'
import {until} from '../support/until.ts'
import {createAsOther, type Ground, reportEnded, untilOver} from './carried.ts'
import type {Case} from './cases.ts'
import type {ChaosFault} from './chaos-faults.ts'
import type {ChaosFile} from './chaos-files.ts'
import {type EndedRunState, judge, type Verdict} from './judge.ts'
import {openRandom} from './random.ts'

/**
 * Returns an environment with a short CRM time-out. `CRM_LAG_SECONDS` and the seconds of the faults are scaled to this time-out, because they
 * were chosen for a time-out of `rigTimeoutSeconds`.
 */
export const chaosEnvironment = (timeoutSeconds: number, imports: number) => ({
  LEASE_SECONDS: '5',
  CRM_TIMEOUT_SECONDS: `${timeoutSeconds}`,
  CRM_SLOTS: '5',
  IMPORTS_PER_WORKER: `${imports}`,
  CRM_LAG_SECONDS: `${(defaultLagSeconds * timeoutSeconds) / rigTimeoutSeconds}`,
  RATE_PER_ADDRESS: '0',
  RATE_PER_BEARER: '0',
})
const rigTimeoutSeconds = 3
/** The default of CRM_LAG_SECONDS. */
const defaultLagSeconds = 60

/** A run that has not ended after this many seconds is considered stuck. */
const longestSeconds = 300

/** A separate org in the service and in the CRM, so that the faults of concurrent imports do not affect each other. */
export type Lane = {here: Deployment; key: string; org: Org; other: string; isIdempotent: boolean}

/**
 * Returns a function that opens a lane. Lanes open one at a time, because the discovery worker reads each org. `isIdempotent`: leads have an
 * idempotency field.
 */
export const openChaosRuns = (here: Deployment, {isIdempotent = false} = {}) => {
  let last: Promise<unknown> = Promise.resolve()
  let opened = 0
  return (): Promise<Lane> => {
    const n = ++opened
    const lane = last.then(() => openLane(here, {n, isIdempotent}))
    last = lane.catch(() => {})
    return lane
  }
}

const openLane = async (here: Deployment, {n, isIdempotent}: {n: number; isIdempotent: boolean}): Promise<Lane> => {
  const key = `chaos${n}`
  const [user, other] = [`${key}@chaos.example`, `${key}-other@chaos.example`]
  const person = {lastName: 'Chaos', profile: 'Administrator', role: 'CEO'}
  here.crm.addOrg({
    ...seedOrgs[0]!,
    key,
    companyName: `Chaos ${n}`,
    prefix: String(8_800_000 + n),
    zgid: String(30_000 + n),
    // Only these modules are written, and reading the others takes longer than a run.
    modules: seedOrgs[0]!.modules.filter(({name}) => ['Leads', 'Accounts', 'Orders', 'Products'].includes(name)),
    users: [
      {email: user, firstName: 'Own', ...person},
      {email: other, firstName: 'Other', ...person},
    ],
  })
  if (isIdempotent) here.crm.addField(key, 'Leads', {name: idempotencyField, type: 'text', length: 40, unique: true})
  const org = await openOrg(here, user)
  // Under load, a read may exceed the short time-out, so the discovery is retried.
  const isRead = async () => Boolean((await org.call('GET', `/orgs/${org.org}/discovery/latest`)).body.discovery)
  for (let tried = 1; tried < 5 && !(await isRead()); tried++)
    await ok(org.call('POST', `/orgs/${org.org}/discovery/run`, {connectorId: org.connector}, {prefer: 'wait=30'}), 200)
  if (isIdempotent) await ok(org.call('PATCH', `/orgs/${org.org}/config/modules/Leads`, {idempotencyField}), 200)
  return {here, key, org, other, isIdempotent}
}

/** The idempotency field of the leads in lanes that have one. */
export const idempotencyField = 'Import_Key'

export type Cell = {file: ChaosFile; fault: ChaosFault; seed: number}

type Under = {path: string; ids: Record<string, string>; run: any}

/**
 * Runs one cell, a kind of file under one fault, with one seed. Returns the verdict on the first runs, and the verdict on their retries if there
 * were any.
 */
export const playCell = async (lane: Lane, {file, fault, seed}: Cell): Promise<Verdict[]> => {
  const dice = openRandom(seed + hashOf(`${file.name} ${fault.name}`))
  const laid = file.lay({dice, mark: `s${seed}${dice.between(1_000, 9_999)}-`, rows: dice.between(20, 120)})
  const second = secondOf(lane)
  const modules = [...new Set(laid.parts.map(({module}) => module))]
  const faults = fault.lay({dice, org: lane.key, modules, second})
  const {verdicts, chains} = await playCase(lane, {laid, faults, switches: fault.switches?.(second) ?? {}, imports: file.imports ?? 1})
  if (lane.isIdempotent) verdicts.at(-1)!.says.push(...findDoubts(chains))
  return verdicts
}

/**
 * Returns a line for each log entry that reports a possible second record or an uncertain record. A lane with an idempotency field must have
 * none.
 */
export const findDoubts = (chains: EndedRunState[][]): string[] =>
  chains
    .flat()
    .flatMap(({log}) => log)
    .filter(({code, outcome}) => code === 'MAYBE_MADE' || code === 'SENT_BEFORE' || outcome === 'made_after_no_answer')
    .map(({rowKey, outcome, code}) => `${rowKey} is ${outcome} ${code}`)

/** Returns how many real seconds one second of a fault lasts. */
export const secondOf = ({here}: Lane) => here.config.CRM_TIMEOUT_SECONDS / rigTimeoutSeconds

export type ChaosCase = {
  laid: Case
  faults: FaultSpec[]
  switches?: Partial<Switches>
  /** Number of imports of these files that run at the same time. */
  imports?: number
  /** Runs at the same time as the first runs. */
  meanwhile?(): Promise<unknown>
  beforeRetry?(): void
  /** Retries the imports even if no row needs attention. */
  alwaysRetry?: boolean
}

/**
 * The result of a case. `verdicts`: one after the first runs, and one after the retries if there were any. `chains`: for each import, the
 * reports of its runs in order.
 */
export type ChaosPlayed = {verdicts: Verdict[]; chains: EndedRunState[][]}

/**
 * Runs imports at once under faults. If a row of any import failed, was refused or got no answer, or with `alwaysRetry`, retries all imports
 * without faults. Judges after each step.
 */
export const playCase = async (lane: Lane, {laid, faults, switches = {}, imports: count = 1, ...more}: ChaosCase): Promise<ChaosPlayed> => {
  const {here, key, org} = lane
  const {crm} = here
  const prepared = await Promise.all(Array.from({length: count}, () => prepareFiles(org, laid.files, laid.flows)))
  const known = new Set(laid.before.flatMap(({module, records}) => createAsOther(here, module, records, {org: key, as: lane.other})))
  const laidFaults = faults.map(({match, ...fault}) => crm.faults.add({match: {org: key, ...match}, ...fault}))
  const clearFaults = () => {
    for (const id of laidFaults) crm.faults.remove(id)
  }
  crm.setSwitches(switches, key)
  try {
    const [imports] = await Promise.all([Promise.all(prepared.map(one => runToEnd(lane, one, laid.start))), more.meanwhile?.()])
    clearFaults()
    await untilQuiet(lane)
    const judged = {laid, known, crmOrg: key, repeated: repeatedIn(lane)}
    const chains: EndedRunState[][] = await Promise.all(imports.map(async one => [await tell(lane, laid, one)]))
    const verdicts = [await judge(here, {...judged, chains})]
    if (!more.alwaysRetry && imports.every(({run}) => isWhole(run))) return {verdicts, chains}
    more.beforeRetry?.()
    for (const [at, one] of imports.entries()) {
      const again = await runToEnd(lane, one, {retryOf: one.run.id})
      chains[at]!.push(await tell(lane, laid, again))
    }
    // All imports use rows of one org, so each chain gets the sum after the last retry.
    const {used} = await useOf(org)
    for (const chain of chains) chain.at(-1)!.usedRows = used
    const retried = await judge(here, {...judged, chains})
    verdicts.push({...retried, says: retried.says.map(line => `after the retry, ${line}`)})
    return {verdicts, chains}
  } finally {
    clearFaults()
    crm.setSwitches({coqlLagSeconds: 0, searchLagSeconds: 0, clockOffsetSeconds: 0}, key)
  }
}

const runToEnd = async ({here, org}: Lane, {path, ids}: Omit<Under, 'run'>, start: object): Promise<Under> => {
  const {run} = await ok(
    repeatWhileBusy(() => org.call('POST', `${path}/runs`, start)),
    202,
  )
  // The clock does not advance while a run is paused, because other lanes share it.
  const ground: Ground = {here, org, pass: async () => {}}
  return {path, ids, run: await untilOver(ground, `${path}/runs/${run.id}`, longestSeconds)}
}

/**
 * Sends a request again while the overloaded API answers 503, after the seconds that `Retry-After` names. If the API had executed the request, it
 * refuses the repetition only while that run is active, or if the request starts a retry. Otherwise the repetition starts a second run.
 */
export const repeatWhileBusy = async (send: () => Promise<HttpAnswer>): Promise<HttpAnswer> => {
  for (let tries = 1; ; tries++) {
    const answer = await send()
    if (answer.status !== 503 || tries === mostTries) return answer
    await sleep(1_000 * Number(answer.headers.get('retry-after') ?? 1))
  }
}
const mostTries = 10

/** Whether no row is unanswered, refused or failed. */
const isWhole = ({counts}: any) =>
  Object.values<Record<string, number>>(counts).every(({unanswered = 0, refused = 0, failed = 0}) => unanswered + refused + failed === 0)

/** Waits until the CRM has no late requests left and the org has no reserved rows, at most 60 s each. */
const untilQuiet = async ({here, key, org}: Lane) => {
  await until(
    () => here.crm.late(key),
    late => late === 0,
    60,
  )
  await until(
    async () => (await useOf(org)).reserved,
    reserved => reserved === 0,
    60,
  )
}

const useOf = async (org: Org) => (await ok(org.call('GET', '/entitlements/usage'), 200)).rows as {used: number; reserved: number}

const tell = async (lane: Lane, laid: Case, one: Under): Promise<EndedRunState> => {
  await untilQuiet(lane)
  return {...(await reportEnded(lane.org, {...one, laid})), usedRows: (await useOf(lane.org)).used}
}

/**
 * Returns the ids of records that the second delivery of a request created. Without an idempotency field no client can prevent these records.
 * With one, none may exist, so the set is empty.
 */
const repeatedIn = ({here, key, isIdempotent}: Lane) => {
  const repeated = isIdempotent ? [] : here.crm.journal({org: key, method: 'POST', committed: true})
  return new Set(
    repeated
      .filter(({outcome}) => outcome === 'repeated')
      .flatMap(({answer}) => (answer?.data ?? []).map((entry: any) => String(entry.details?.id))),
  )
}

const hashOf = (text: string) => [...text].reduce((hash, letter) => (Math.imul(hash, 31) + letter.charCodeAt(0)) >>> 0, 7) % 1_000_000
