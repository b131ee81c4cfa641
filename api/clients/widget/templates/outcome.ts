import {describeRunState} from '../../run-state.ts'
import type {Counts} from '../runs/run.ts'
import {t as runTexts} from '../text/runs.ts'
import {t} from '../text/schedules.ts'
import {count} from '../ui/format.ts'

type Tone = ReturnType<typeof describeRunState>['tone']
/** `unchanged` and `keptRows` are absent in firings of earlier versions of Lading. */
export type FiringOutcome = {
  state: string
  outcome: string | null
  counts: {rowsWritten: number; unchanged?: number; keptRows?: number; modules: Counts} | null
  openQuestions: number
}

const tones: Record<string, Tone> = {
  unchanged: 'neutral',
  skipped: 'neutral',
  stopped: 'warning',
  drifted: 'warning',
  failed: 'bad',
}

/** Returns the label of a firing's outcome, with its colour. A finished run has the label that its own page shows. */
export const describeOutcome = ({outcome, state, counts, openQuestions}: FiringOutcome): {word: string; tone: Tone} => {
  if (outcome !== 'done' || !counts)
    return {word: t.firingStates[outcome ?? state] ?? outcome ?? state, tone: tones[outcome ?? ''] ?? 'info'}
  const run = {...counts, counts: counts.modules, state: 'ended', dryRun: false, stop: null, questions: openQuestions}
  return describeRunState(run, count, runTexts.states)
}

type Decidable = {contract: {decision: string | null} | null; importId: string | null}

/** Whether the file of a firing waits for a decision. If the import was deleted, its file is gone and does not wait. */
export const isHeld = <F extends Decidable>(firing: F): firing is F & {contract: NonNullable<F['contract']>} =>
  firing.contract?.decision === null && firing.importId !== null
