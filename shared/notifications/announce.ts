import type {Tx} from '../../sql/database.ts'
import {insertNotice} from '../../sql/notices.ts'
import {newId} from '../ids.ts'
import type {NoticeKind} from './kind.ts'

/**
 * The data of an event: ids, codes, counts, amounts, times and our own sentences. Because the data is sent to receivers outside the service, it
 * never contains rows, cells or file names.
 */
export type About = {[name: string]: string | number | boolean | null | About | About[]}

type AnnounceInput = {org: string; kind: NoticeKind; schedule: string | null; about: About}

/**
 * Announces an event in the transaction of its cause, so that the event is sent only if this transaction commits. The worker `notices` chooses
 * the recipients. Returns the notice's id, which receivers see as `webhook-id`.
 */
export const announce = async (tx: Tx, {org, kind, schedule, about}: AnnounceInput): Promise<string> => {
  const id = newId('ntc')
  await insertNotice(tx, {id, org, kind, schedule, about})
  return id
}
