import {followJob, type Job} from '../../follow-job.ts'
import {client, inOrg} from './session.ts'

const mostMs = 30 * 60_000

/** Follows a job until it is done. Throws its error if it was refused, failed or was cancelled. */
export const untilDone = async (id: string, following: {signal?: AbortSignal; tell?: (job: Job) => void} = {}): Promise<void> => {
  const job = await followJob({client, path: inOrg(`/jobs/${id}`), mostMs, ...following})
  if (job === null) throw new Error('The job takes longer than 30 minutes. Check again later')
  if (job.state !== 'done') throw new Error(job.error?.error ?? `The job was ${job.state}. Try again`)
}
