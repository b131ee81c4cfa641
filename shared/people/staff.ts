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
import type {Log} from '../log.ts'
import {normaliseAddress} from './address.ts'
import {recordStaffAction} from './staff-action.ts'

/** A person who is staff, or an account whose person becomes staff at their first sign-in. */
type StaffMember = {id: string; account: PersonRow['account'] | null; email: string | null; name: string | null; awaited: boolean}

type AddStaffInput = {
  email?: string | undefined
  person?: string | undefined
  account?: {dc: string; id: string} | undefined
}

type Tools = {db: Pool; config: Pick<Config, 'CRM_STANDIN_URL'>}

/**
 * Makes a person staff, or keeps their account for its first sign-in. An address alone names nobody: whoever has an account with that address,
 * in any data centre, could be meant. Beside `person` it must be the person's.
 */
export const addStaff = ({db, config}: Tools, {email, person, account}: AddStaffInput): Promise<StaffMember> =>
  db.transaction(async tx => {
    if (account) return addAccount(tx, config, account)
    const found = person === undefined ? null : await lockPerson(tx, person)
    if (person === undefined) throw ambiguous(email === undefined ? [] : await listPeopleAt(tx, normaliseAddress(email)))
    if (!found || (email !== undefined && normaliseAddress(found.email) !== normaliseAddress(email)))
      throw new Refusal('NOT_FOUND', 'No such person has this address')
    return flag(tx, found)
  })

const addAccount = async (tx: Tx, config: Tools['config'], {dc, id}: {dc: string; id: string}) => {
  if (!findHosts(config, dc)) {
    const message = `There is no data centre ${dc}`
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

/** Their sessions open nothing more from the next request on. `id` is a person's, or an awaited account's. */
export const removeStaff = (db: Pool, id: string): Promise<StaffMember> =>
  db.transaction(async tx => {
    const awaited = await deleteAwaitedStaff(tx, id)
    const person = await lockPerson(tx, id)
    if (!awaited && !person?.staff) throw new Refusal('NOT_FOUND', 'Nobody of this id is staff')
    await recordStaffAction(tx, null, {kind: 'staff.remove', ...(awaited ? {detail: {awaited: id}} : {person: id})})
    return awaited ? describeAwaited(awaited) : describe(await setStaff(tx, {id, staff: false}))
  })

export const listStaffMembers = async (db: Pool): Promise<StaffMember[]> => [
  ...(await listStaff(db)).map(describe),
  ...(await listAwaitedStaff(db)).map(describeAwaited),
]

/** Whether a person who signs in is staff: if their account was awaited, from now on. */
export const isStaffNow = async (tx: Tx, {id, account, staff}: PersonRow): Promise<boolean> => {
  if (staff || !(await takeStaffAccount(tx, `${account.dc}:${account.id}`))) return staff
  return (await setStaff(tx, {id, staff: true})).staff
}

/** Entries of older versions have an address alone. They make nobody staff; the operator is told so. */
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
