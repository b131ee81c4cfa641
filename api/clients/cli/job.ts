import {followJob, type Job} from '../follow-job.ts'
import {EXIT} from './exit-codes.ts'
import {Failure} from './failure.ts'
import {interrupted} from './interrupt.ts'
import {count} from './phrases.ts'
import {openProgress} from './progress.ts'
import type {Cli, Session} from './session.ts'

const longestHours = 24

/** Waits up to 24 hours for a job and returns it. Throws if the job was refused, failed, was cancelled or has not ended. */
export const waitForJob = async (cli: Cli, session: Session, {id}: Pick<Job, 'id'>): Promise<Job> => {
  const progress = openProgress(cli.out)
  const signal = cli.interrupt()
  const tell = (job: Job) => {
    progress.show({label: job.name, share: shareOf(job.progress), parts: partsOf(job)})
    return session.keepFresh()
  }
  const next = `Continue with: lading jobs wait ${id}`
  try {
    const job = await followJob({
      client: session.client,
      path: session.path(`jobs/${encodeURIComponent(id)}`),
      mostMs: longestHours * 3_600_000,
      signal,
      tell,
    })
    if (job) return assertDone(job)
    throw new Failure(`The job ${id} has not ended in ${longestHours} hours`, {exit: EXIT.unreachable, code: 'UNREACHABLE', next})
  } catch (error) {
    if (signal.aborted) throw interrupted(signal.reason, `Stopped waiting for job ${id}, which continues`, next)
    throw error
  } finally {
    progress.clear()
  }
}

const assertDone = (job: Job): Job => {
  if (job.state === 'done') return job
  const {error, code, ...detail} = job.error ?? {error: 'The job was cancelled', code: 'CANCELLED'}
  throw new Failure(error, {exit: EXIT.refused, code, next: `See: lading jobs show ${job.id}`, detail: {...detail, job: job.id}})
}

const shareOf = (progress: Job['progress']) => (progress?.total ? progress.done / progress.total : null)
const partsOf = ({state, progress}: Job) => [progress ? `${count(progress.done)} ${progress.unit}` : state]
