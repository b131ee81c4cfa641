import type {BulkState} from './bulk-state.ts'
import type {Clock} from './clock.ts'
import type {Gate} from './concurrency.ts'
import type {CreditLedger} from './credits.ts'
import type {Module} from './modules.ts'
import type {OrgSpec, ProfileSpec, UserSpec} from './schema.ts'
import type {Switches} from './switches.ts'

export type User = {
  id: string
  zuid: string
  email: string
  firstName: string
  lastName: string
  fullName: string
  profile: {id: string; name: string}
  role: {id: string; name: string}
  status: 'active' | 'inactive' | 'deleted'
  confirmed: boolean
  timeZone: string
}

export type Org = {
  key: string
  id: string
  spec: OrgSpec
  dc: string
  timeZone: string
  users: User[]
  profiles: Map<string, ProfileSpec>
  modules: Map<string, Module>
  credits: CreditLedger
  gate: Gate
  clock: Clock
  switches: Switches
  counters: {meta: number; user: number; record: number}
  names: Map<string, string>
  /** Scheduled restores from the recycle bin. */
  restores: {at: number; ids: string[]; user: User; zone: string}[]
  /** Bulk jobs. A snapshot does not keep them. */
  bulk: BulkState
}

/** Returns the time that the org shows in ms: its clock plus the offset of the switch. */
export const reportedTime = ({clock, switches}: Org) => clock.now() + switches.clockOffsetSeconds * 1000

export const metaId = (org: Org) => idOf(org, (org.counters.meta += 1))
export const recordId = (org: Org) => idOf(org, (org.counters.record += 1))

/** Returns the id of a profile, role, layout or section. Equal names have equal ids. */
export const namedId = (org: Org, name: string): string => {
  let id = org.names.get(name)
  if (!id) org.names.set(name, (id = metaId(org)))
  return id
}

export const addUser = (org: Org, spec: UserSpec): User => {
  const known = userByEmail(org, spec.email)
  const user: User = {
    id: known?.id ?? idOf(org, (org.counters.user += 1)),
    zuid: known?.zuid ?? String(700_000_000 + Number(org.spec.zgid) * 100 + org.users.length + 1),
    email: spec.email,
    firstName: spec.firstName,
    lastName: spec.lastName,
    fullName: `${spec.firstName} ${spec.lastName}`.trim(),
    profile: {id: namedId(org, `profile ${spec.profile ?? 'Standard'}`), name: spec.profile ?? 'Standard'},
    role: {id: namedId(org, `role ${spec.role ?? 'CEO'}`), name: spec.role ?? 'CEO'},
    status: spec.status ?? 'active',
    confirmed: spec.confirmed ?? true,
    timeZone: spec.timeZone ?? org.timeZone,
  }
  if (known) return Object.assign(known, user)
  org.users.push(user)
  return user
}

export const userByEmail = (org: Org, email: string) => org.users.find(user => user.email.toLowerCase() === email.toLowerCase())
export const userById = (org: Org, id: string) => org.users.find(user => user.id === id)

export const named = (user: User) => ({name: user.fullName, id: user.id})
export const owning = (user: User) => ({name: user.fullName, id: user.id, email: user.email})

const idOf = (org: Org, counter: number) => org.spec.prefix + String(counter).padStart(12, '0')
