import type {Pool, Tx} from '../../sql/database.ts'
import {listPeopleAt, listStaff, lockPerson, type PersonRow, setStaff} from '../../sql/people.ts'
import {deleteStaffAddress, keepStaffAddress, listStaffAddresses, takeStaffAddress} from '../../sql/staff-addresses.ts'
import {Refusal} from '../errors.ts'
import {newId} from '../ids.ts'
import {normaliseAddress} from './address.ts'
import {recordStaffAction} from './staff-action.ts'

/** Somebody who is staff, or an address whose person is to be. */
type StaffMember = {id: string; email: string; name: string | null; awaited: boolean}

/**
 * Makes the person of an address staff, or keeps the address for its first sign-in. Where several people have it, `person` says which:
 * the same mailbox in another data centre may be somebody else's.
 */
export const addStaff = (db: Pool, {email, person}: {email: string; person?: string | undefined}): Promise<StaffMember> =>
  db.transaction(async tx => {
    const address = normaliseAddress(email)
    const found = (await listPeopleAt(tx, address)).filter(({id}) => person === undefined || id === person)
    if (found.length > 1) throw ambiguous(found)
    if (person !== undefined && found.length === 0) throw new Refusal('NOT_FOUND', 'No such person has this address')
    return found[0] ? flag(tx, found[0]) : awaitSignIn(tx, address)
  })

const ambiguous = (people: PersonRow[]) => {
  const says = 'Several people have this address: say which of them by `person`'
  return new Refusal('PERSON_AMBIGUOUS', says, {people: people.map(({id, name}) => ({id, name}))})
}

const flag = async (tx: Tx, person: PersonRow) => {
  if (person.staff) return describe(person)
  await recordStaffAction(tx, null, {kind: 'staff.add', person: person.id})
  return describe(await setStaff(tx, {id: person.id, staff: true}))
}

const awaitSignIn = async (tx: Tx, email: string) => {
  const kept = await keepStaffAddress(tx, {id: newId('stf'), email})
  await recordStaffAction(tx, null, {kind: 'staff.add', detail: {awaited: kept.id}})
  return describeAwaited(kept)
}

/** Their sessions open nothing more from the next request on. `id` is a person's, or an awaited address's. */
export const removeStaff = (db: Pool, id: string): Promise<StaffMember> =>
  db.transaction(async tx => {
    const awaited = await deleteStaffAddress(tx, id)
    const person = await lockPerson(tx, id)
    if (!awaited && !person?.staff) throw new Refusal('NOT_FOUND', 'Nobody of this id is staff')
    await recordStaffAction(tx, null, {kind: 'staff.remove', ...(awaited ? {detail: {awaited: id}} : {person: id})})
    return awaited ? describeAwaited(awaited) : describe(await setStaff(tx, {id, staff: false}))
  })

export const listStaffMembers = async (db: Pool): Promise<StaffMember[]> => [
  ...(await listStaff(db)).map(describe),
  ...(await listStaffAddresses(db)).map(describeAwaited),
]

/** Whether somebody who signs in is staff: if an address was waiting for them, from now on. */
export const isStaffNow = async (tx: Tx, {id, email, staff}: PersonRow): Promise<boolean> => {
  if (staff || !(await takeStaffAddress(tx, normaliseAddress(email)))) return staff
  return (await setStaff(tx, {id, staff: true})).staff
}

const describe = ({id, email, name}: PersonRow): StaffMember => ({id, email, name, awaited: false})
const describeAwaited = ({id, email}: {id: string; email: string}): StaffMember => ({id, email, name: null, awaited: true})
