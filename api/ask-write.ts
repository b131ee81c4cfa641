import {type replaceRows, writeRecords} from '../shared/jobs.ts'
import {answerWrite, readWrite, settleAbandoned, settleOverdue} from '../shared/writes/answer.ts'
import type {Submission} from '../shared/writes/submit.ts'
import {ask} from './ask.ts'

type Way = {by?: typeof writeRecords | typeof replaceRows; answer?: typeof answerWrite}

/** What became of what was given to a worker to write; where nobody waits for it, how to find it. */
export const askWrite = async (
  input: Parameters<typeof ask>[0],
  {write: id, job}: Submission,
  {by = writeRecords, answer = answerWrite}: Way = {},
): Promise<object> => {
  const {db, caller} = input
  const named = {org: caller.org, id}
  if (job === null) return answer(db, named)
  return ask(input, {
    ...{job: by, id: job},
    async describe(end) {
      const isLeft = input.request.signal.aborted || input.request.draining.aborted
      if (end === 'unstarted' || (end === 'unknown' && !isLeft)) await settleAbandoned(db, named)
      return answer(db, named)
    },
    isSettled: () => settleOverdue(db, named),
    more: async () => ({write: (await readWrite(db, named)).write}),
  })
}
