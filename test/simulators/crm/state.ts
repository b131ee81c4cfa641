import {hash} from 'node:crypto'
import type {AutomationNote} from './automations.ts'
import type {Flight} from './concurrency.ts'
import type {JournalEntry} from './journal.ts'
import type {Module} from './modules.ts'
import type {Org} from './org.ts'
import {fullRecord} from './reads.ts'
import {runDueRestores} from './recycle-bin.ts'
import {orgOf, type SimulatorState} from './simulator-state.ts'
import {live} from './store.ts'

export type StateRecord = Record<string, any> & {id: string}
export type InFlightTime = {calls: number; ms: number; recordCalls: number; recordMs: number}

export type OrgState = {
  key: string
  dc: string
  companyName: string
  edition: string
  users: {id: string; email: string; profile: string}[]
  counts: Record<string, number>
  credits: {allowance: number; used: number; remaining: number; header: number | null}
  concurrency: {limit: number; peak: number; clients: Record<string, Flight>}
  time: InFlightTime
}

export type State = {
  now: string
  frozen: boolean
  switches: Record<string, unknown>
  orgs: Record<string, OrgState>
  clients: string[]
  faults: {id: number; used: number; times: number; actions: string[]}[]
  held: number
  requests: number
  tokens: {codes: number; refresh: number; access: number}
}

export const findModule = (org: Org, name: string): Module => {
  const module = org.modules.get(name)
  if (!module) throw new TypeError(`No such module: ${name}`)
  return module
}

export const readRecords = (world: SimulatorState, orgKey: string, module: string): StateRecord[] => {
  const org = currentOrg(world, orgKey)
  const found = findModule(org, module)
  return [...live(found.store)].map(rec => fullRecord({org, user: {timeZone: org.timeZone}}, found, rec) as StateRecord)
}

export const readOne = (world: SimulatorState, orgKey: string, module: string, id: string): StateRecord | null => {
  const org = currentOrg(world, orgKey)
  const found = findModule(org, module)
  const rec = found.store.byId.get(id)
  return rec ? (fullRecord({org, user: {timeZone: org.timeZone}}, found, rec) as StateRecord) : null
}

/** The number of records, and the sum of the hashes of their values, which does not depend on their order. */
export type RecordDigest = {count: number; sum: string}

/** Digests the records of a module, which can be too many for a list. Null and "" have the same hash. */
export const digestRecords = (world: SimulatorState, orgKey: string, module: string, fields: string[]): RecordDigest => {
  let [count, sum] = [0, 0n]
  for (const {values} of live(findModule(currentOrg(world, orgKey), module).store)) {
    count++
    sum += digestLine(fields.map(field => String(values[field] ?? '')))
  }
  return {count, sum: BigInt.asUintN(64, sum).toString(16)}
}

export const digestLine = (texts: string[]): bigint => hash('sha1', JSON.stringify(texts), 'buffer').readBigUInt64BE()

export const countRecords = (world: SimulatorState, orgKey: string, module: string): number =>
  findModule(currentOrg(world, orgKey), module).store.byId.size

const currentOrg = (world: SimulatorState, orgKey: string): Org => {
  const org = orgOf(world, orgKey)
  runDueRestores(org)
  return org
}

export const readAutomations = (world: SimulatorState, orgKey?: string): AutomationNote[] =>
  world.automations.list().filter(note => orgKey === undefined || note.org === orgKey)

export type JournalFilter = {method?: string; path?: string; module?: string; org?: string; committed?: boolean}

/** Lists the entries of the journal that match the filter. `path` is a prefix. */
export const readJournal = (world: SimulatorState, filter: JournalFilter = {}): JournalEntry[] =>
  world.journal
    .list()
    .filter(
      entry =>
        (filter.method === undefined || entry.method === filter.method) &&
        (filter.path === undefined || entry.path.startsWith(filter.path)) &&
        (filter.module === undefined || entry.module === filter.module) &&
        (filter.org === undefined || entry.org === filter.org) &&
        (filter.committed === undefined || entry.committed === filter.committed),
    )

export const inFlightPeak = (world: SimulatorState, orgKey?: string): number =>
  orgKey === undefined ? Math.max(...[...world.orgs.values()].map(org => org.gate.peak())) : orgOf(world, orgKey).gate.peak()

export const inFlightNow = (world: SimulatorState, orgKey?: string): number =>
  [...world.orgs.values()]
    .filter(org => orgKey === undefined || org.key === orgKey)
    .flatMap(org => Object.values(org.gate.flights()))
    .reduce((sum, flight) => sum + flight.inFlight, 0)

export const inFlightTime = (world: SimulatorState, orgKey?: string): InFlightTime => {
  const total = {calls: 0, ms: 0, recordCalls: 0, recordMs: 0}
  for (const org of world.orgs.values()) {
    if (orgKey !== undefined && org.key !== orgKey) continue
    const time = org.gate.time()
    total.calls += time.calls
    total.ms += time.ms
    total.recordCalls += time.recordCalls
    total.recordMs += time.recordMs
  }
  return total
}

export const describeCredits = ({credits}: Org) => ({
  allowance: credits.allowance(),
  used: credits.used(),
  remaining: credits.remaining(),
  header: credits.header(),
})

export const describeState = (world: SimulatorState): State => ({
  now: new Date(world.clock.now()).toISOString(),
  frozen: world.clock.isFrozen(),
  switches: {...world.switches},
  orgs: Object.fromEntries([...world.orgs.values()].map(org => [org.key, describeOrg(org)])),
  clients: [...world.clients.keys()],
  faults: world.faults.list().map(({id, used, times, actions}) => ({id, used, times, actions: actions.map(action => action.type)})),
  held: world.holds.waiting(),
  requests: world.journal.total(),
  tokens: {codes: world.tokens.codes.size, refresh: world.tokens.refresh.size, access: world.tokens.access.size},
})

const describeOrg = (org: Org): OrgState => ({
  key: org.key,
  dc: org.dc,
  companyName: org.spec.companyName,
  edition: org.spec.edition,
  users: org.users.map(user => ({id: user.id, email: user.email, profile: user.profile.name})),
  counts: Object.fromEntries([...org.modules.values()].map(module => [module.name, module.store.byId.size])),
  credits: describeCredits(org),
  concurrency: {limit: org.gate.limit(), peak: org.gate.peak(), clients: org.gate.flights()},
  time: org.gate.time(),
})
