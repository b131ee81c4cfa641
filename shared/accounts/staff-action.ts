import {z} from 'zod'
import type {Db} from '../../sql/database.ts'
import {deleteStaffAction, insertStaffAction, type Staff} from '../../sql/staff-actions.ts'
import {newId} from '../ids.ts'

export type {Staff} from '../../sql/staff-actions.ts'

export const Reason = z.string().trim().min(1).max(1000).describe('The reason, for readers of the record years later')

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

/** Records a staff action. Call this in the transaction of the effect. Returns the id of the record. */
export const recordStaffAction = async (db: Db, staff: Staff, {kind, org, person, reason, detail = {}}: StaffAction): Promise<string> => {
  const id = newId('act')
  await insertStaffAction(db, {id, kind, staff, org: org ?? null, person: person ?? null, reason: reason ?? null, detail})
  return id
}

export const forgetStaffAction = deleteStaffAction
