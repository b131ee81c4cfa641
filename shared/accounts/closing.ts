import type {Pool, Tx} from '../../sql/database.ts'
import {lockClosing, type OrgClosing, setClosed} from '../../sql/org-closing.ts'
import {Refusal} from '../errors.ts'
import {endBilling} from '../jobs.ts'
import {enqueue, type Queue} from '../queue.ts'
import {recordStaffAction, type Staff} from './staff-action.ts'

type CloseOrgInput = {org: string; closed: boolean; reason: string | undefined}

/**
 * Closes an org, or opens it again. While an org is closed, the API refuses its members and its runs pause. The org's subscription ends with the
 * paid period. Opening the org does not undo this cancellation; an admin of the org can undo it. A call without a change is not recorded. Closing a
 * closed org requests the end of its subscription again, in case the earlier attempt failed.
 */
export const setOrgClosed = (db: Pool, queue: Queue, by: Staff, {org, closed, reason}: CloseOrgInput): Promise<OrgClosing> =>
  db.transaction(async tx => {
    const found = await lockOpenable(tx, org)
    if (closed) await enqueue(queue, endBilling, {org}, {tx, track: false})
    if ((found.closedAt !== null) === closed) return found
    await recordStaffAction(tx, by, {kind: closed ? 'close' : 'reopen', org, reason})
    return setClosed(tx, {id: org, closed})
  })

/** Locks the org's row. Throws NOT_FOUND if the org is missing or is being erased. */
export const lockOpenable = async (tx: Tx, org: string): Promise<OrgClosing> => {
  const found = await lockClosing(tx, org)
  if (!found || found.erasingAt !== null) throw new Refusal('NOT_FOUND', 'No such org')
  return found
}
