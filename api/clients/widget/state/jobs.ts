import {followJob, type Job} from '../../follow-job.ts'
import {messageOf} from '../text/errors.ts'
import {t} from '../text/shell.ts'
import {client, inOrg} from './session.ts'

const mostMs = 30 * 60_000

/** Waits until a job is done. Throws if the job is refused, fails, is cancelled, or takes longer than 30 minutes. */
export const untilDone = async (id: string, following: {signal?: AbortSignal; tell?: (job: Job) => void} = {}): Promise<void> => {
  const job = await followJob({client, path: inOrg(`/jobs/${id}`), mostMs, ...following})
  if (job === null) throw new Error(t.theJobTakesLongerThan30Minutes)
  if (job.state !== 'done')
    throw new Error(
      (job.error && messageOf({code: job.error.code, message: job.error.error})) ?? t.jobEnded[job.state as keyof typeof t.jobEnded],
    )
}
