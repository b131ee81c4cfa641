import type {Pool} from '../../sql/database.ts'
import {lockPerson, type PersonRow, setBanned} from '../../sql/people.ts'
import {Refusal} from '../errors.ts'
import {recordStaffAction, type Staff} from './staff-action.ts'

type BanInput = {person: string; banned: boolean; reason: string | undefined}

/**
 * Bans a person, or lifts the ban. The API refuses the sessions and API tokens of a banned person from the next request. A call without a change
 * is not recorded.
 */
export const setPersonBanned = (db: Pool, by: Staff, {person, banned, reason}: BanInput): Promise<PersonRow> =>
  db.transaction(async tx => {
    const found = await lockPerson(tx, person)
    if (!found) throw new Refusal('NOT_FOUND', 'No such person')
    if ((found.bannedAt !== null) === banned) return found
    await recordStaffAction(tx, by, {kind: banned ? 'ban' : 'unban', person, reason})
    return setBanned(tx, {id: person, banned})
  })
