import {z} from 'zod'
import type {Db} from '../../sql/database.ts'
import {deleteStaffAction, insertStaffAction, type Staff} from '../../sql/staff-actions.ts'
import {newId} from '../ids.ts'

export type {Staff} from '../../sql/staff-actions.ts'

/** Why, in the words of who does it: the record is read by people years later. */
export const Reason = z.string().trim().min(1).max(1000).describe('Why, for whoever reads the record years later')

/** Everything staff and the operator may do to others. Later kinds join here. */
type StaffActionKind =
  | 'staff.add'
  | 'staff.remove'
  | 'view'
  | 'write'
  | 'ban'
  | 'unban'
  | 'close'
  | 'reopen'
  | 'erase'
  | 'erased'
  | 'person.delete'
  | 'org.credits'
  | 'org.plan'
  | 'org.suspend'
  | 'org.unsuspend'
  | 'plan.payment'
  | 'pack.payment'
  | 'event.retry'

type StaffAction = {
  kind: StaffActionKind
  org?: string
  person?: string
  reason?: string | undefined
  detail?: Record<string, unknown>
}

/** One line for one effect, in the transaction that has it. Answers the line's id. */
export const recordStaffAction = async (db: Db, staff: Staff, {kind, org, person, reason, detail = {}}: StaffAction): Promise<string> => {
  const id = newId('act')
  await insertStaffAction(db, {id, kind, staff, org: org ?? null, person: person ?? null, reason: reason ?? null, detail})
  return id
}

export const forgetStaffAction = deleteStaffAction
