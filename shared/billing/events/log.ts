import type {Pool} from '../../../sql/database.ts'
import {type EventFilter, findEventStatus, listEvents, reopenEvent} from '../../../sql/payment-events.ts'
import type {Config} from '../../config.ts'
import {readPage} from '../../cursor.ts'
import {Refusal} from '../../errors.ts'
import {applyPaymentEvent} from '../../jobs.ts'
import {recordStaffAction, type Staff} from '../../people/staff-action.ts'
import {enqueue, type Queue} from '../../queue.ts'

type Listing = EventFilter & {limit: number; cursor?: string | undefined}

/** A page of the log of events, the newest first. A cursor is good for the same filters only. */
export const readEventLog = async ({db, config}: {db: Pool; config: Pick<Config, 'SESSION_KEYS'>}, {limit, cursor, ...filter}: Listing) => {
  const {page: events, nextCursor} = await readPage(
    config.SESSION_KEYS,
    `payment events ${JSON.stringify(filter)}`,
    {limit, cursor},
    {as: String, read: asked => listEvents(db, {...filter, ...asked}), placeOf: ({id}) => id},
  )
  return {events, nextCursor}
}

/** Sends an event to be applied again at once, as when what it failed for is put right. NOT_FOUND for one that never came or is over. */
export const retryEvent = ({db, queue}: {db: Pool; queue: Queue}, staff: Staff, id: string) =>
  db.transaction(async tx => {
    const event = await reopenEvent(tx, id)
    if (!event) {
      const status = await findEventStatus(tx, id)
      throw new Refusal(
        'NOT_FOUND',
        status === null ? 'No such event: GET /billing/admin/events lists them' : `This event is ${status} already`,
      )
    }
    await recordStaffAction(tx, staff, {kind: 'event.retry', ...(event.orgId && {org: event.orgId}), detail: {event: id}})
    await enqueue(queue, applyPaymentEvent, {event: id}, {tx, track: false})
    return {event}
  })
