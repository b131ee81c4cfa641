import type {Pool, Tx} from '../../sql/database.ts'
import {findPersonBySubject, listPeopleAt, listStaff, lockPerson, type PersonRow, setStaff} from '../../sql/people.ts'
import {
  type AwaitedRow,
  countStaffAddresses,
  deleteAwaitedStaff,
  keepStaffAccount,
  listAwaitedStaff,
  takeStaffAccount,
} from '../../sql/staff-accounts.ts'
import type {Config} from '../config.ts'
import {findHosts} from '../crm/hosts.ts'
import {Refusal} from '../errors.ts'
import {newId} from '../ids.ts'
import type {Log} from '../telemetry/log.ts'
import {normaliseAddress} from './address.ts'
import {recordStaffAction} from './staff-action.ts'

/** A person who is staff, or an account whose person becomes staff at their first sign-in. */
type StaffMember = {id: string; account: PersonRow['account'] | null; email: string | null; name: string | null; awaited: boolean}

type AddStaffInput = {
  email?: string | undefined
  person?: string | undefined
  account?: {dc: string; id: string} | undefined
}

type StaffDeps = {db: Pool; config: Pick<Config, 'CRM_STANDIN_URL' | 'CRM_HOSTS'>}

/**
 * Makes a person staff, or stores an account whose person becomes staff at the first sign-in. An e-mail address alone is refused, because
 * accounts of several data centres may share it. If `person` is given too, the address must be that person's.
 */
export const addStaff = ({db, config}: StaffDeps, {email, person, account}: AddStaffInput): Promise<StaffMember> =>
  db.transaction(async tx => {
    if (account) return addAccount(tx, config, account)
    const found = person === undefined ? null : await lockPerson(tx, person)
    if (person === undefined) throw ambiguous(email === undefined ? [] : await listPeopleAt(tx, normaliseAddress(email)))
    if (!found || (email !== undefined && normaliseAddress(found.email) !== normaliseAddress(email)))
      throw new Refusal('NOT_FOUND', 'No such person with this address')
    return flag(tx, found)
  })

const addAccount = async (tx: Tx, config: StaffDeps['config'], {dc, id}: {dc: string; id: string}) => {
  if (!findHosts(config, dc)) {
    const message = `The data centre ${dc} is unknown`
    throw new Refusal('INVALID', message, {issues: [{code: 'custom', path: ['account', 'dc'], message}]})
  }
  const subject = `${dc}:${id}`
  const found = await findPersonBySubject(tx, subject)
  return found ? flag(tx, found) : awaitSignIn(tx, subject)
}

const ambiguous = (people: readonly PersonRow[]) => {
  const says = 'An address does not identify an account. Send `person`, or `account` with the data centre and the account id'
  return new Refusal('PERSON_AMBIGUOUS', says, {people: people.map(({id, name}) => ({id, name}))})
}

const flag = async (tx: Tx, person: PersonRow) => {
  if (person.staff) return describe(person)
  await recordStaffAction(tx, null, {kind: 'staff.add', person: person.id})
  return describe(await setStaff(tx, {id: person.id, staff: true}))
}

const awaitSignIn = async (tx: Tx, subject: string) => {
  const kept = await keepStaffAccount(tx, {id: newId('stf'), subject})
  await recordStaffAction(tx, null, {kind: 'staff.add', detail: {awaited: kept.id}})
  return describeAwaited(kept)
}

/**
 * Removes a staff member. The API refuses the person's staff views and backoffice requests from the next request. `id` names a person, or an
 * account that has not signed in yet.
 */
export const removeStaff = (db: Pool, id: string): Promise<StaffMember> =>
  db.transaction(async tx => {
    const awaited = await deleteAwaitedStaff(tx, id)
    const person = await lockPerson(tx, id)
    if (!awaited && !person?.staff) throw new Refusal('NOT_FOUND', 'No staff member has this id')
    await recordStaffAction(tx, null, {kind: 'staff.remove', ...(awaited ? {detail: {awaited: id}} : {person: id})})
    return awaited ? describeAwaited(awaited) : describe(await setStaff(tx, {id, staff: false}))
  })

export const listStaffMembers = async (db: Pool): Promise<StaffMember[]> => [
  ...(await listStaff(db)).map(describe),
  ...(await listAwaitedStaff(db)).map(describeAwaited),
]

/** Returns whether a person who signs in is staff. If a staff account is stored for this person's account, makes the person staff. */
export const isStaffNow = async (tx: Tx, {id, account, staff}: PersonRow): Promise<boolean> => {
  if (staff || !(await takeStaffAccount(tx, `${account.dc}:${account.id}`))) return staff
  return (await setStaff(tx, {id, staff: true})).staff
}

/** Warns the operator of staff entries from older releases. Those entries contain only an e-mail address and have no effect. */
export const warnOfStaffAddresses = async ({db, log}: {db: Pool; log: Log}): Promise<void> => {
  const count = await countStaffAddresses(db)
  if (count === 0) return
  log.warn(
    {count},
    'staff entries with an e-mail address alone have no effect. List them with GET /staff/people, add the accounts with POST /staff/people, then delete the entries',
  )
}

const describe = ({id, account, email, name}: PersonRow): StaffMember => ({id, account, email, name, awaited: false})
const describeAwaited = (row: AwaitedRow): StaffMember => ({...row, name: null, awaited: true})
