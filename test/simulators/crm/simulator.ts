import {allow} from './accounts.ts'
import {ruleId} from './assignment-rules.ts'
import type {AutomationNote} from './automations.ts'
import {createBulkState} from './bulk-state.ts'
import type {ClientSpec} from './clients.ts'
import type {Clock} from './clock.ts'
import {findPerson} from './consent.ts'
import type {FaultSpec, Faults} from './faults.ts'
import {writeForeign} from './foreign.ts'
import type {JournalEntry} from './journal.ts'
import {addField, addModule, dropField, renameModule} from './modules.ts'
import {addUser, namedId, type User} from './org.ts'
import type {AssignmentRuleSpec, FieldSpec, LayoutSpec, ModuleSpec, OrgSpec, ProfileSpec, UserSpec} from './schema.ts'
import {addOrg, createSimulatorState, orgOf, type SimulatorState, type SimulatorStateOptions} from './simulator-state.ts'
import * as read from './state.ts'
import {addUnique, createStore, type Values} from './store.ts'
import {changeSwitches, type Switches} from './switches.ts'
import {deleteRecord, type Entry} from './writes.ts'

export type GrantSpec = {email: string; scopes?: string[]; clientId?: string; org?: string}
export type Granted = {accessToken: string; refreshToken: string; org: string; dc: string}
export type CreditChange = {allowance?: number | null; addOn?: number; used?: number}

/** The interface for tests and benches; /__sim offers most of it over HTTP. By default, org keys are example, other, sandbox and eu. */
export type Simulator = {
  readonly world: SimulatorState
  /** Restores the state at the start: orgs, tokens, clock and switches. */
  reset: () => void
  /** Deletes records, jobs, journal, automations, faults, late requests, credits and peaks. Keeps schemas, tokens, clock and switches. */
  clear: () => void
  clock: Pick<Clock, 'now' | 'set' | 'advance' | 'freeze' | 'unfreeze' | 'isFrozen'>
  faults: Pick<Faults, 'list' | 'remove' | 'clear'> & {add: (spec: FaultSpec) => number}
  /** Releases held calls: all, or the first `count`. Returns how many it released. */
  release: (count?: number) => number
  held: () => number
  /** Returns the number of `late` requests that have not arrived, of one org or of all orgs. */
  late: (org?: string) => number
  /** Changes switches of all orgs or of one org. A switch that was set for one org is not affected by later changes for all orgs. */
  setSwitches: (changes: Partial<Switches>, org?: string) => void
  switches: () => Switches
  addOrg: (spec: OrgSpec) => void
  addModule: (org: string, spec: ModuleSpec) => void
  renameModule: (org: string, module: string, name: string) => void
  addField: (org: string, module: string, spec: FieldSpec) => void
  dropField: (org: string, module: string, name: string) => void
  /** Adds a layout or an assignment rule to a module, or replaces the one of the same name. Returns its id. */
  addLayout: (org: string, module: string, spec: LayoutSpec) => string
  addAssignmentRule: (org: string, module: string, spec: AssignmentRuleSpec) => string
  addUser: (org: string, spec: UserSpec) => User
  addProfile: (org: string, spec: ProfileSpec) => void
  addClient: (spec: ClientSpec) => void
  /** Issues tokens without the consent page. */
  grant: (spec: GrantSpec) => Granted
  /** Writes records without a call. Returns the entries that the CRM would answer. */
  create: (org: string, module: string, records: Values[], options?: {as?: string}) => Entry[]
  update: (org: string, module: string, records: Values[], options?: {as?: string}) => Entry[]
  remove: (org: string, module: string, ids: string[]) => Entry[]
  mark: (org: string, module: string, ids: string[], marks: {converted?: boolean; locked?: boolean}) => void
  /** Ends the lag of COQL and search for the writes of these records so far. */
  catchUp: (org: string, module: string, ids: string[]) => void
  records: (org: string, module: string) => read.StateRecord[]
  record: (org: string, module: string, id: string) => read.StateRecord | null
  count: (org: string, module: string) => number
  digest: (org: string, module: string, fields: string[]) => read.RecordDigest
  journal: (filter?: read.JournalFilter) => JournalEntry[]
  clearJournal: () => void
  automations: (org?: string) => AutomationNote[]
  inFlight: (org?: string) => number
  inFlightPeak: (org?: string) => number
  /** Returns the time in ms that ended calls were in flight, and that of record calls separately. */
  inFlightTime: (org?: string) => read.InFlightTime
  credits: (org: string) => {allowance: number; used: number; remaining: number; header: number | null}
  setCredits: (org: string, to: CreditChange) => void
  /** Sets the limit of parallel calls; null restores the limit of the edition. */
  setConcurrency: (org: string, limit: number | null) => void
  state: () => read.State
  /** Called after every change, so that the snapshot is written. */
  changed: () => void
}

const offlineScopes = [
  'ZohoCRM.modules.ALL',
  'ZohoCRM.settings.modules.READ',
  'ZohoCRM.settings.fields.READ',
  'ZohoCRM.settings.layouts.READ',
  'ZohoCRM.settings.assignment_rules.READ',
  'ZohoCRM.settings.tags.ALL',
  'ZohoCRM.settings.recycle_bin.READ',
  'ZohoCRM.settings.recycle_bin.UPDATE',
  'ZohoCRM.settings.profiles.READ',
  'ZohoCRM.settings.data_sharing.READ',
  'ZohoCRM.users.READ',
  'ZohoCRM.org.READ',
  'ZohoSearch.securesearch.READ',
  'ZohoCRM.coql.READ',
  'ZohoCRM.bulk.READ',
  'ZohoCRM.bulk.CREATE',
  'ZohoFiles.files.ALL',
]

export const createSimulator = (options: SimulatorStateOptions, changed: () => void): Simulator => {
  let world = createSimulatorState(options)
  const now = () => world
  const reset = () => {
    const {baseUrl} = world
    world.holds.release()
    world.deliveries.cancel()
    world = createSimulatorState(options)
    world.baseUrl = baseUrl
    changed()
  }
  return {
    get world() {
      return world
    },
    changed,
    reset,
    clear: () => {
      clearRecords(world)
      changed()
    },
    clock: {
      now: () => world.clock.now(),
      set: at => world.clock.set(at),
      advance: ms => world.clock.advance(ms),
      freeze: () => world.clock.freeze(),
      unfreeze: () => world.clock.unfreeze(),
      isFrozen: () => world.clock.isFrozen(),
    },
    faults: {
      add: spec => world.faults.add(spec),
      list: () => world.faults.list(),
      remove: id => world.faults.remove(id),
      clear: () => world.faults.clear(),
    },
    release: count => world.holds.release(count),
    held: () => world.holds.waiting(),
    late: org => world.deliveries.pending(org),
    setSwitches: (changes, org) => changeSwitches(org === undefined ? world.switches : orgOf(world, org).switches, changes),
    switches: () => ({...world.switches}),
    ...schemaAccess(now, changed),
    ...recordAccess(now, changed),
    ...stateAccess(now),
  }
}

const schemaAccess = (now: () => SimulatorState, changed: () => void) => ({
  addOrg: (spec: OrgSpec) => {
    addOrg(now(), spec)
    changed()
  },
  addModule: (org: string, spec: ModuleSpec) => {
    addModule(orgOf(now(), org), spec)
    changed()
  },
  renameModule: (org: string, module: string, name: string) => {
    const found = orgOf(now(), org)
    renameModule(found, read.findModule(found, module), name)
    changed()
  },
  addField: (org: string, module: string, spec: FieldSpec) => {
    const found = orgOf(now(), org)
    addField(found, read.findModule(found, module), {custom: true, ...spec})
    changed()
  },
  dropField: (org: string, module: string, name: string) => {
    dropField(read.findModule(orgOf(now(), org), module), name)
    changed()
  },
  addLayout: (org: string, module: string, spec: LayoutSpec) => {
    const found = orgOf(now(), org)
    const {spec: own} = read.findModule(found, module)
    own.layouts = [...(own.layouts ?? []).filter(({name}) => name !== spec.name), spec]
    changed()
    return namedId(found, `layout ${module} ${spec.name}`)
  },
  addAssignmentRule: (org: string, module: string, spec: AssignmentRuleSpec) => {
    const found = orgOf(now(), org)
    const known = read.findModule(found, module)
    known.spec.assignmentRules = [...(known.spec.assignmentRules ?? []).filter(({name}) => name !== spec.name), spec]
    changed()
    return ruleId(found, known, spec.name)
  },
  addUser: (org: string, spec: UserSpec) => {
    const user = addUser(orgOf(now(), org), spec)
    changed()
    return user
  },
  addProfile: (org: string, spec: ProfileSpec) => {
    orgOf(now(), org).profiles.set(spec.name, spec)
    changed()
  },
  addClient: (spec: ClientSpec) => {
    now().clients.set(spec.clientId, spec)
    changed()
  },
  grant: (spec: GrantSpec): Granted => {
    const granted = grant(now(), spec)
    changed()
    return granted
  },
})

const recordAccess = (now: () => SimulatorState, changed: () => void) => {
  const write = (org: string, module: string, records: Values[], {as}: {as?: string} = {}): Entry[] => {
    changed()
    const owner = as ?? orgOf(now(), org).users[0]!.email
    return records.map(record => writeForeign(now(), {org, module, record, user: owner}))
  }
  return {
    create: (org: string, module: string, records: Values[], options?: {as?: string}) =>
      write(
        org,
        module,
        records.map(({id: _, ...record}) => record),
        options,
      ),
    update: write,
    remove: (org: string, module: string, ids: string[]): Entry[] => {
      changed()
      const found = orgOf(now(), org)
      const about = {org: found, user: found.users[0]!, at: now().clock.now(), zone: found.timeZone}
      return ids.map(id => deleteRecord(about, read.findModule(found, module), id))
    },
    mark: (org: string, module: string, ids: string[], marks: {converted?: boolean; locked?: boolean}) => {
      changed()
      const {store} = read.findModule(orgOf(now(), org), module)
      for (const id of ids) Object.assign(store.byId.get(id) ?? {}, marks)
    },
    catchUp: (org: string, module: string, ids: string[]) => {
      const {store} = read.findModule(orgOf(now(), org), module)
      for (const rec of ids.map(id => store.byId.get(id)).filter(rec => rec !== undefined)) {
        store.coqlLag.delete(rec)
        store.searchLag.delete(rec)
      }
    },
    records: (org: string, module: string) => read.readRecords(now(), org, module),
    digest: (org: string, module: string, fields: string[]) => read.digestRecords(now(), org, module, fields),
    record: (org: string, module: string, id: string) => read.readOne(now(), org, module, id),
    count: (org: string, module: string) => read.countRecords(now(), org, module),
  }
}

const stateAccess = (now: () => SimulatorState) => ({
  journal: (filter?: read.JournalFilter) => read.readJournal(now(), filter),
  clearJournal: () => now().journal.clear(),
  automations: (org?: string) => read.readAutomations(now(), org),
  inFlight: (org?: string) => read.inFlightNow(now(), org),
  inFlightPeak: (org?: string) => read.inFlightPeak(now(), org),
  inFlightTime: (org?: string) => read.inFlightTime(now(), org),
  credits: (org: string) => read.describeCredits(orgOf(now(), org)),
  setCredits: (org: string, to: CreditChange) => orgOf(now(), org).credits.change(to),
  setConcurrency: (org: string, limit: number | null) => orgOf(now(), org).gate.setLimit(limit),
  state: () => read.describeState(now()),
})

const grant = (world: SimulatorState, {email, scopes = offlineScopes, clientId, org}: GrantSpec): Granted => {
  const who = findPerson(world, email, org ?? null)
  const client = clientId === undefined ? [...world.clients.values()][0] : world.clients.get(clientId)
  if (!who || !client) throw new TypeError(`No such user or client: ${email}`)
  const code = allow(world, {client, ...who, scopes, redirectUri: '', offline: true, forced: true, challenge: null})
  world.tokens.takeCode(code.code)
  const refresh = world.tokens.issueRefresh(code)
  if (refresh === 'throttled') throw new TypeError('Too many refresh tokens a minute')
  const access = world.tokens.issueAccess(code, refresh.token)
  return {accessToken: access.token, refreshToken: refresh.token, org: who.org.key, dc: who.org.dc}
}

const clearRecords = (world: SimulatorState) => {
  world.holds.release()
  world.deliveries.cancel()
  world.faults.clear()
  world.journal.clear()
  world.automations.clear()
  for (const org of world.orgs.values()) {
    org.credits.change({used: 0})
    org.credits.exhaustUntil(null)
    org.gate.forget()
    org.restores = []
    org.bulk = createBulkState()
    for (const module of org.modules.values()) {
      module.store = createStore()
      for (const field of module.uniques) addUnique(module.store, field.name, {fold: field.spec.unique !== 'case-sensitive'})
    }
  }
}
