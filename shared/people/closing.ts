import type {Pool, Tx} from '../../sql/database.ts'
import {type Closing, lockClosing, setClosed} from '../../sql/org-closing.ts'
import {Refusal} from '../errors.ts'
import {endBilling} from '../jobs.ts'
import {enqueue, type Queue} from '../queue.ts'
import {recordStaffAction, type Staff} from './staff-action.ts'

type Asked = {org: string; closed: boolean; reason: string | undefined}

/**
 * Closes an org, or opens it again. Whoever is in it is refused from their next request on, and its runs lie down until it opens. What it pays
 * for ends with the period that is paid; who opens it again before that leaves it so, and its admins take the cancellation back as one of theirs.
 * What is so already is answered and not written down again.
 */
export const setOrgClosed = (db: Pool, queue: Queue, by: Staff, {org, closed, reason}: Asked): Promise<Closing> =>
  db.transaction(async tx => {
    const found = await lockOpenable(tx, org)
    if ((found.closedAt !== null) === closed) return found
    await recordStaffAction(tx, by, {kind: closed ? 'close' : 'reopen', org, reason})
    if (closed) await enqueue(queue, endBilling, {org}, {tx, track: false})
    return setClosed(tx, {id: org, closed})
  })

/** One that is being erased is as good as gone. */
export const lockOpenable = async (tx: Tx, org: string): Promise<Closing> => {
  const found = await lockClosing(tx, org)
  if (!found || found.erasingAt !== null) throw new Refusal('NOT_FOUND', 'No such org')
  return found
}
