import {followJob, type Job} from '../../follow-job.ts'
import {client, inOrg} from './session.ts'

const mostMs = 30 * 60_000

/** Follows a job until it is done; one that came to nothing is thrown with its reason. */
export const untilDone = async (id: string, following: {signal?: AbortSignal; tell?: (job: Job) => void} = {}): Promise<void> => {
  const job = await followJob({client, path: inOrg(`/jobs/${id}`), mostMs, ...following})
  if (job === null) throw new Error('It takes longer than half an hour: look again later')
  if (job.state !== 'done') throw new Error(job.error?.error ?? `It was ${job.state}`)
}
