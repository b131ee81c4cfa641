import type {AutomationNote} from './automations.ts'
import {createBulkState} from './bulk-state.ts'
import {type Client, type ClientSpec, defaultClient} from './clients.ts'
import {type Clock, createClock, type Instant} from './clock.ts'
import {createGate} from './concurrency.ts'
import {createLedger} from './credits.ts'
import {createDeliveries, type Deliveries} from './deliveries.ts'
import {createFaults, type Faults} from './faults.ts'
import {createHolds, type Holds} from './holds.ts'
import {createJournal, type Journal, type JournalOptions} from './journal.ts'
import {addModule} from './modules.ts'
import {addUser, namedId, type Org} from './org.ts'
import {usualProfiles} from './profiles.ts'
import {createRing, type Ring} from './ring.ts'
import {addSampleRecords} from './sample-records.ts'
import type {OrgSpec} from './schema.ts'
import {seedOrgs} from './seed.ts'
import {changeSwitches, defaultSwitches, type Switches} from './switches.ts'
import {createTokens, type Tokens} from './tokens.ts'

export type SimulatorStateOptions = {
  clients?: ClientSpec[]
  orgs?: OrgSpec[]
  switches?: Partial<Switches>
  clock?: {at?: Instant; frozen?: boolean}
  journal?: JournalOptions
  /** The data centre of the address without a prefix. Others are under /dc/{name}. */
  defaultDc?: string
  /** Whether the first org gets sample records; by default not. */
  samples?: boolean
}

export type SimulatorState = {
  clock: Clock
  switches: Switches
  orgs: Map<string, Org>
  clients: Map<string, Client>
  tokens: Tokens
  journal: Journal
  automations: Ring<AutomationNote>
  faults: Faults
  holds: Holds
  deliveries: Deliveries
  defaultDc: string
  baseUrl: string
  hostOf: (dc: string) => string
}

export const createSimulatorState = (options: SimulatorStateOptions = {}): SimulatorState => {
  const clock = createClock(options.clock)
  const switches = {...defaultSwitches}
  changeSwitches(switches, options.switches ?? {})
  const defaultDc = options.defaultDc ?? 'us'
  const world: SimulatorState = {
    clock,
    switches,
    orgs: new Map(),
    clients: new Map((options.clients ?? [defaultClient]).map(client => [client.clientId, client])),
    tokens: createTokens(clock, switches),
    journal: createJournal(options.journal),
    automations: createRing<AutomationNote>(10_000),
    faults: createFaults(),
    holds: createHolds(),
    deliveries: createDeliveries(),
    defaultDc,
    baseUrl: '',
    hostOf: dc => (dc === defaultDc ? world.baseUrl : `${world.baseUrl}/dc/${dc}`),
  }
  for (const spec of options.orgs ?? seedOrgs) addOrg(world, spec)
  if (options.samples) addSampleRecords(world)
  return world
}

export const addOrg = (world: SimulatorState, spec: OrgSpec): Org => {
  const org: Org = {
    key: spec.key,
    id: '',
    spec,
    dc: spec.dc ?? world.defaultDc,
    timeZone: spec.timeZone ?? 'Europe/Madrid',
    users: [],
    profiles: new Map([...usualProfiles, ...(spec.profiles ?? [])].map(profile => [profile.name, profile])),
    modules: new Map(),
    credits: createLedger(world.clock, spec),
    gate: createGate(spec.edition),
    clock: world.clock,
    // An org inherits every switch that it does not override.
    switches: Object.create(world.switches) as Switches,
    counters: {meta: 2000, user: 201_000, record: 900_000},
    restores: [],
    bulk: createBulkState(),
    names: new Map(Object.entries(spec.ids ?? {})),
  }
  org.id = namedId(org, 'org')
  world.orgs.set(spec.key, org)
  for (const user of spec.users) addUser(org, user)
  for (const module of spec.modules) addModule(org, module)
  return org
}

export const orgOf = (world: SimulatorState, key?: string): Org => {
  const org = key === undefined ? [...world.orgs.values()][0] : world.orgs.get(key)
  if (!org) throw new TypeError(`No such org: ${key}`)
  return org
}
