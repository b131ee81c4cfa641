import {z} from 'zod'
import type {Tx} from '../../sql/database.ts'
import {raiseCounted} from '../../sql/outside-runs.ts'
import {writeStop} from '../../sql/run-heads.ts'
import {type Asker, assertMine, endOutside, isOutsideOver, lockStanding, renewOutside} from './outside.ts'
import {limitStop} from './stop.ts'

export const ProgressBody = z.strictObject({
  rowsWritten: z
    .int()
    .min(0)
    .max(1_000_000_000)
    .optional()
    .describe('Rows written so far, all together: meters a run that writes none of them through this service'),
  done: z.boolean().default(false).describe('Whether the run is over. Said again it changes nothing'),
  outcome: z.string().max(200).nullish().describe('What it came to, in words of your own'),
})

type Told = z.output<typeof ProgressBody> & {runId: string}

/**
 * Takes note of how far an outside engine says it is. `rowsWritten` is cumulative, and meters a run that writes nothing through us: past
 * the run's limit it is stopped, which the answer says. `done` closes the run, also one whose lease has lapsed; saying it again changes
 * nothing.
 */
export const tellProgress = async (tx: Tx, asker: Asker, {runId, rowsWritten = 0, done, outcome}: Told): Promise<void> => {
  const run = await lockStanding(tx, asker.org, runId)
  assertMine(run, asker)
  if (done && isOutsideOver(run)) return
  if (!(done && run.engine === 'outside')) await renewOutside(tx, run)
  const counted = await raiseCounted(tx, {no: run.no, rowsWritten})
  const isMeteredByUs = run.nextBatch > 1
  if (!isMeteredByUs && rowsWritten > run.rowsLimit) await writeStop(tx, {run: run.no, stop: limitStop({...run, counted})})
  if (done) await endOutside(tx, run, {outcome: outcome ?? null, pending: 'send'})
}
