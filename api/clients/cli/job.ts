import {setTimeout as sleep} from 'node:timers/promises'
import type {Json} from '../http.ts'
import {EXIT} from './exit-codes.ts'
import {Failure} from './failure.ts'
import {interrupted} from './interrupt.ts'
import {openProgress} from './progress.ts'
import type {Cli, Session} from './session.ts'
import {count} from './words.ts'

const ended = ['done', 'refused', 'failed', 'cancelled']
const longestHours = 24

/** Waits for a job to end well; answers it. */
export const waitForJob = async (cli: Cli, session: Session, asked: Json): Promise<Json> => {
  const progress = openProgress(cli.out)
  const signal = cli.interrupt()
  const deadline = Date.now() + longestHours * 3_600_000
  try {
    for (let job = asked; ; ) {
      if (ended.includes(job.state)) return assertDone(job)
      if (Date.now() > deadline)
        throw new Failure(`The job ${job.id} has not ended in ${longestHours} hours`, {
          exit: EXIT.unreachable,
          code: 'UNREACHABLE',
          next: `Ask again: lading jobs wait ${job.id}`,
        })
      progress.show({label: job.name, share: shareOf(job.progress), parts: partsOf(job)})
      await sleep(pauseMs, undefined, {signal})
      await session.keepFresh()
      job = await session.client.get(session.path(`jobs/${job.id}`), undefined, signal)
    }
  } catch (error) {
    if (signal.aborted)
      throw interrupted(
        signal.reason,
        `You no longer wait for the job ${asked.id}, which goes on`,
        `Come back with: lading jobs wait ${asked.id}`,
      )
    throw error
  } finally {
    progress.clear()
  }
}

const assertDone = (job: Json): Json => {
  if (job.state === 'done') return job
  const {error = 'The job was cancelled', code = 'CANCELLED', ...detail} = job.error ?? {}
  throw new Failure(error, {exit: EXIT.refused, code, next: `See: lading jobs show ${job.id}`, detail: {...detail, job: job.id}})
}

const shareOf = (progress: Json) => (progress?.total ? progress.done / progress.total : null)
const partsOf = ({state, progress}: Json) => (progress ? [`${count(progress.done)} ${progress.unit ?? ''}`.trim()] : [state])

const pauseMs = 500
