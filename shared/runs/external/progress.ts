import {z} from 'zod'
import type {Tx} from '../../../sql/database.ts'
import {raiseCounted} from '../../../sql/external-runs.ts'
import {writeStop} from '../../../sql/run-heads.ts'
import {limitStop} from '../stop.ts'
import {assertOwner, endExternalRun, isExternalOver, lockExternalRun, type RunCaller, renewExternalLease} from './run.ts'

export const ProgressBody = z.strictObject({
  rowsWritten: z
    .int()
    .min(0)
    .max(1_000_000_000)
    .optional()
    .describe('Total rows written so far. Meters a run that writes no rows through this service'),
  done: z.boolean().default(false).describe('Ends the run. Repeating it changes nothing'),
  outcome: z.string().max(200).nullish().describe('The result of the run, as free text'),
})

type ProgressInput = z.output<typeof ProgressBody> & {runId: string}

/**
 * Records the progress that an external engine reports. `rowsWritten` is cumulative. For a run that writes no rows through this service,
 * `rowsWritten` is the meter, and exceeding the row limit stops the run. `done` closes the run, even if its lease has expired; a repeated
 * `done` changes nothing.
 */
export const reportProgress = async (
  tx: Tx,
  runCaller: RunCaller,
  {runId, rowsWritten = 0, done, outcome}: ProgressInput,
): Promise<void> => {
  const run = await lockExternalRun(tx, runCaller.org, runId)
  assertOwner(run, runCaller)
  if (done && isExternalOver(run)) return
  if (!(done && run.engine === 'outside')) await renewExternalLease(tx, run)
  const counted = await raiseCounted(tx, {no: run.no, rowsWritten})
  const isMeteredByUs = run.nextBatch > 1
  if (!isMeteredByUs && rowsWritten > run.rowsLimit) await writeStop(tx, {run: run.no, stop: limitStop({...run, counted})})
  if (done) await endExternalRun(tx, run, {outcome: outcome ?? null, pending: 'send'})
}
