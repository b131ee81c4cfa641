import type {Deployment} from '../deployment.ts'
import {type Org, ok, openOrg} from '../importing.ts'
import {prepareFiles} from '../linking.ts'
import type {FaultSpec} from '../simulators/crm/faults.ts'
import {seedOrgs} from '../simulators/crm/seed.ts'
import type {Switches} from '../simulators/crm/switches.ts'
import {until} from '../until.ts'
import {createAsOther, type Ground, tellEnded, untilOver} from './carried.ts'
import type {Case} from './cases.ts'
import type {ChaosFault} from './chaos-faults.ts'
import type {ChaosFile} from './chaos-files.ts'
import {openDice} from './dice.ts'
import {type Ended, judge, type Verdict} from './judge.ts'

/** The time-outs are short, and the seconds of faults are as much shorter than those of the rig that found what this row looks for. */
export const chaosEnvironment = (timeoutSeconds: number, imports: number) => ({
  ...{LEASE_SECONDS: '5', CRM_TIMEOUT_SECONDS: `${timeoutSeconds}`, CRM_SLOTS: '5', IMPORTS_PER_WORKER: `${imports}`},
  ...{CRM_LAG_SECONDS: `${(defaultLagSeconds * timeoutSeconds) / rigTimeoutSeconds}`, RATE_PER_ADDRESS: '0', RATE_PER_BEARER: '0'},
})
const rigTimeoutSeconds = 3
/** Of a deployment that sets none. */
const defaultLagSeconds = 60

/** A run that has not ended by then never will. */
const longestSeconds = 150

/** An org here and one at the CRM that nobody else uses, so that imports beside each other do not meet each other's faults. */
export type Lane = {here: Deployment; key: string; org: Org; other: string}

/** Opens one lane after another: the discovery worker reads each. */
export const openLanes = (here: Deployment) => {
  let last: Promise<unknown> = Promise.resolve()
  let opened = 0
  return (): Promise<Lane> => {
    const n = ++opened
    const lane = last.then(() => openLane(here, n))
    last = lane.catch(() => {})
    return lane
  }
}

const openLane = async (here: Deployment, n: number): Promise<Lane> => {
  const key = `chaos${n}`
  const [user, other] = [`${key}@chaos.example`, `${key}-other@chaos.example`]
  const person = {lastName: 'Chaos', profile: 'Administrator', role: 'CEO'}
  here.crm.addOrg({
    ...seedOrgs[0]!,
    ...{key, companyName: `Chaos ${n}`, prefix: String(8_800_000 + n), zgid: String(30_000 + n)},
    // Only these are written: reading the others takes longer than a run.
    modules: seedOrgs[0]!.modules.filter(({name}) => ['Leads', 'Accounts', 'Orders', 'Products'].includes(name)),
    users: [
      {email: user, firstName: 'Own', ...person},
      {email: other, firstName: 'Other', ...person},
    ],
  })
  const org = await openOrg(here, user)
  // Where much is going on, a read may take longer than the short time-out of these calls.
  const isRead = async () => Boolean((await org.call('GET', `/orgs/${org.org}/discovery/latest`)).body.discovery)
  for (let tried = 1; tried < 5 && !(await isRead()); tried++)
    await ok(org.call('POST', `/orgs/${org.org}/discovery/run`, {connectorId: org.connector}, {prefer: 'wait=30'}), 200)
  return {here, key, org, other}
}

export type Cell = {file: ChaosFile; fault: ChaosFault; seed: number}

type Under = {path: string; ids: Record<string, string>; run: any}

/** One cell with one seed. */
export const playCell = async (lane: Lane, {file, fault, seed}: Cell): Promise<Verdict[]> => {
  const dice = openDice(seed + hashOf(`${file.name} ${fault.name}`))
  const laid = file.lay({dice, mark: `s${seed}${dice.between(1_000, 9_999)}-`, rows: dice.between(20, 120)})
  const second = secondOf(lane)
  const modules = [...new Set(laid.parts.map(({module}) => module))]
  const faults = fault.lay({dice, org: lane.key, modules, second})
  const played = await playCase(lane, {laid, faults, switches: fault.switches?.(second) ?? {}, imports: file.imports ?? 1})
  return played.verdicts
}

/** How many real seconds a second of the rig takes. */
export const secondOf = ({here}: Lane) => here.config.CRM_TIMEOUT_SECONDS / rigTimeoutSeconds

export type ChaosCase = {
  laid: Case
  faults: FaultSpec[]
  switches?: Partial<Switches>
  /** How many imports of these files run at the same time. */
  imports?: number
  /** What else happens while the first runs are under way, and before the retries. */
  meanwhile?(): Promise<unknown>
  beforeRetry?(): void
  /** Retries the imports even if every run wrote all its rows. */
  alwaysRetry?: boolean
}

/** `verdicts`: one after the first runs, and one after the retries. `chains`: the reports of the runs of each import, in order. */
export type ChaosPlayed = {verdicts: Verdict[]; chains: Ended[][]}

/** Imports at once under faults, and then, without the faults, a retry of each where rows were left unwritten; judged after each. */
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
    const chains: Ended[][] = await Promise.all(imports.map(async one => [await tell(lane, laid, one)]))
    const verdicts = [await judge(here, {...judged, chains})]
    if (!more.alwaysRetry && imports.every(({run}) => isWhole(run))) return {verdicts, chains}
    more.beforeRetry?.()
    for (const [at, one] of imports.entries()) {
      const again = await runToEnd(lane, one, {retryOf: one.run.id})
      chains[at]!.push(await tell(lane, laid, again))
    }
    // Each import's retry used rows of the one org.
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
  const {run} = await ok(org.call('POST', `${path}/runs`, start), 202)
  // A run that pauses is waited for: other lanes live by the same clock.
  const ground: Ground = {here, org, pass: async () => {}}
  return {path, ids, run: await untilOver(ground, `${path}/runs/${run.id}`, longestSeconds)}
}

/** Every row was written, or had nothing to write. */
const isWhole = ({counts}: any) =>
  Object.values<Record<string, number>>(counts).every(({unanswered = 0, refused = 0, failed = 0}) => unanswered + refused + failed === 0)

/** Requests may arrive after the run has ended, and its rows are counted a moment later. */
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

const tell = async (lane: Lane, laid: Case, one: Under): Promise<Ended> => {
  await untilQuiet(lane)
  return {...(await tellEnded(lane.org, {...one, laid})), usedRows: (await useOf(lane.org)).used}
}

/** What a second delivery of a request made, whose answer nobody was sent: no client can know of it. */
const repeatedIn = ({here, key}: Lane) =>
  new Set(
    here.crm
      .journal({org: key, method: 'POST', committed: true})
      .filter(({outcome}) => outcome === 'repeated')
      .flatMap(({answer}) => (answer?.data ?? []).map((entry: any) => String(entry.details?.id))),
  )

const hashOf = (text: string) => [...text].reduce((hash, letter) => (Math.imul(hash, 31) + letter.charCodeAt(0)) >>> 0, 7) % 1_000_000
