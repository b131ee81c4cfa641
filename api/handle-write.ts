import {type replaceRows, writeRecords} from '../shared/jobs.ts'
import {answerWrite, readWrite, settleAbandoned, settleOverdue} from '../shared/runs/external/answer.ts'
import type {Submission} from '../shared/runs/external/submit.ts'
import {awaitJob} from './await-job.ts'

type SubmitWriteOptions = {by?: typeof writeRecords | typeof replaceRows; answer?: typeof answerWrite}

/**
 * Waits for a worker to finish a record write and returns the result. With `Prefer`, returns the job and the id of the write if the write has
 * not ended in the requested time.
 */
export const handleWrite = async (
  input: Parameters<typeof awaitJob>[0],
  {write: id, job}: Submission,
  {by = writeRecords, answer = answerWrite}: SubmitWriteOptions = {},
): Promise<object> => {
  const {db, caller} = input
  const named = {org: caller.org, id}
  if (job === null) return answer(db, named)
  return awaitJob(input, {
    job: by,
    id: job,
    async describe(end) {
      const isLeft = input.request.signal.aborted || input.request.draining.aborted
      if (end === 'unstarted' || (end === 'unknown' && !isLeft)) await settleAbandoned(db, named)
      return answer(db, named)
    },
    isSettled: () => settleOverdue(db, named),
    more: async () => ({write: (await readWrite(db, named)).write}),
  })
}
