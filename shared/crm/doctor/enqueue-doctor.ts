import type {Pool} from '../../../sql/database.ts'
import {Refusal} from '../../errors.ts'
import {runDoctor} from '../../jobs.ts'
import {enqueue, type Queue, readPayload} from '../../queue.ts'

type DoctorRequest = {org: string; connector: string; write: boolean}

/**
 * Enqueues a doctor, and returns the id of its job. A connection has one doctor at a time: an equal request returns the job in progress, and a request
 * with another `write` gets BUSY.
 */
export const enqueueDoctor = async ({db, queue}: {db: Pool; queue: Queue}, request: DoctorRequest): Promise<string | null> => {
  const id = await db.transaction(tx => enqueue(queue, runDoctor, request, {tx}))
  const live = id === null ? undefined : await readPayload(queue, runDoctor, id)
  if (live && live.write !== request.write)
    throw new Refusal('BUSY', 'The doctor is running with other options on this connection. Wait until it ends, then run it again', {
      retryAfterMs: 30_000,
    })
  return id
}
