import type {Write} from './drafts.ts'
import {reportedTime, type User} from './org.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {Values} from './store.ts'
import {createRecord, type Entry, updateRecord} from './writes.ts'

/** Writes a record without a call: sample data, or a change by another user between two calls. */
export const writeForeign = (
  world: SimulatorState,
  {org: orgKey, module: name, record, user: email}: {org?: string; module: string; record: Values; user?: string},
): Entry => {
  const org = orgKey === undefined ? [...world.orgs.values()][0] : world.orgs.get(orgKey)
  const module = org?.modules.get(name)
  if (!org || !module) throw new TypeError(`No such org or module: ${orgKey ?? ''} ${name}`)
  const user = email === undefined ? (org.users[1] ?? org.users[0]) : org.users.find(one => one.email === email)
  if (!user) throw new TypeError(`No such user: ${email}`)
  const write: Write = {org, user: user as User, at: Math.floor(reportedTime(org) / 1000) * 1000, zone: org.timeZone}
  const input = structuredClone(record)
  return input.id === undefined ? createRecord(write, module, input, '$.data[0]') : updateRecord(write, module, input, '$.data[0]')
}
