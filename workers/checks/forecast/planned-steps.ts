import type {Snapshot} from '../../../shared/mapping/flows/snapshot.ts'
import {RecordsMoved, readOutcomes} from '../../../shared/runs/results/outcomes.ts'
import {outcomeNo} from '../../../sql/run-log.ts'
import type {Work} from '../../worker.ts'

/**
 * The planned writes of one flow in a dry run. `updates`: all planned writes except creates, including deletes. `refused`: rows that the CRM would
 * refuse; whether they create or update is unknown.
 */
export type PlannedSteps = {creates: number; updates: number; refused: number}

export const countPlannedSteps = async (
  {db, hot, storage}: Pick<Work, 'db' | 'hot' | 'storage'>,
  {run, snapshot, signal}: {run: number; snapshot: Snapshot; signal: AbortSignal},
): Promise<Map<number, PlannedSteps>> => {
  const {flows, sources} = snapshot
  const count = async () => {
    const steps = new Map(flows.map(({no}) => [no, {creates: 0, updates: 0, refused: 0}]))
    for (const source of sources)
      for await (const finals of readOutcomes({db, hot, storage}, {run, source, flows})) {
        signal.throwIfAborted()
        for (const final of finals) if (final.phase === 0) addStep(steps.get(final.flow), final)
      }
    return steps
  }
  return count().catch(error => {
    // The run's log moves from Postgres to storage at most once, so one retry is enough.
    if (error instanceof RecordsMoved) return count()
    throw error
  })
}

const [planned, refused] = [outcomeNo('planned'), outcomeNo('refused')]

const addStep = (steps: PlannedSteps | undefined, {outcome, message}: {outcome: number; message: string | null}) => {
  if (!steps) return
  if (outcome === refused) steps.refused++
  else if (outcome === planned && message?.startsWith('create')) steps.creates++
  else if (outcome === planned) steps.updates++
}
