import type {Pool} from '../../../sql/database.ts'
import {type EventFilter, findEventStatus, listEvents, reopenEvent} from '../../../sql/payment-events.ts'
import {recordStaffAction, type Staff} from '../../accounts/staff-action.ts'
import type {Config} from '../../config.ts'
import {Refusal} from '../../errors.ts'
import {applyPaymentEvent} from '../../jobs.ts'
import {enqueue, type Queue} from '../../queue.ts'
import {readPage} from '../../security/cursor.ts'

type EventLogQuery = EventFilter & {limit: number; cursor?: string | undefined}

/** Returns a page of provider events, newest first. A cursor is valid only with the filters of its first page. */
export const readEventLog = async (
  {db, config}: {db: Pool; config: Pick<Config, 'SESSION_KEYS'>},
  {limit, cursor, ...filter}: EventLogQuery,
) => {
  const {page: events, nextCursor} = await readPage(
    config.SESSION_KEYS,
    `payment events ${JSON.stringify(filter)}`,
    {limit, cursor},
    {as: String, read: asked => listAfter(db, {...filter, ...asked}), placeOf: ({id}) => id},
  )
  return {events, nextCursor}
}

const listAfter = async (db: Pool, asked: Parameters<typeof listEvents>[1]) => {
  if (asked.place !== null && (await findEventStatus(db, asked.place)) === null)
    throw new Refusal('INVALID_CURSOR', 'The last event of the previous page was deleted. Start again without a cursor')
  return listEvents(db, asked)
}

/** Enqueues an event again, for example after the cause of its failure was fixed. Throws NOT_FOUND for an unknown, applied or ignored event. */
export const retryEvent = ({db, queue}: {db: Pool; queue: Queue}, staff: Staff, id: string) =>
  db.transaction(async tx => {
    const event = await reopenEvent(tx, id)
    if (!event) {
      const status = await findEventStatus(tx, id)
      throw new Refusal(
        'NOT_FOUND',
        status === null ? 'No such event. GET /billing/admin/events lists them' : `This event is already ${status}`,
      )
    }
    await recordStaffAction(tx, staff, {kind: 'event.retry', ...(event.orgId && {org: event.orgId}), detail: {event: id}})
    await enqueue(queue, applyPaymentEvent, {event: id}, {tx, track: false})
    return {event}
  })
