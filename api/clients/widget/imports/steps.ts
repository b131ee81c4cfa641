import {t} from '../text/files.ts'
import type {CheckProblem, Checks, Imported, RunOutline} from './import.ts'

/** The steps of an import in order. Each key is the last part of a page's path. */
export const stepKeys = ['match', 'review', 'run', 'results'] as const
export type StepKey = (typeof stepKeys)[number]

export const stepLabels: Record<StepKey, string> = {
  match: t.match,
  review: t.review,
  run: t.run,
  results: t.results,
}

/** A step of an import. `problems`: how many things a person must decide or fix. `said`: the state in words, also for screen readers. */
export type Step = {key: StepKey; label: string; state: 'done' | 'todo' | 'busy' | 'problems'; problems: number; said: string}

export type ImportProgress = {
  import: Imported
  checks: {checks: Checks; problems: CheckProblem[]; nextCursor?: string | null} | null
  runs: RunOutline[]
}

export const stepsOf = (importProgress: ImportProgress): Step[] =>
  stepKeys.map(key => {
    const {problems = 0, ...found} = judges[key](importProgress)
    return {key, label: stepLabels[key], problems, ...found}
  })

type StepState = Pick<Step, 'state' | 'said'> & {problems?: number}

const todo: StepState = {state: 'todo', said: t.toDo}
const done: StepState = {state: 'done', said: t.doneStep}
const busy: StepState = {state: 'busy', said: t.inProgress}
const withProblems = (problems: number, say: (count: number) => string): StepState => ({state: 'problems', problems, said: say(problems)})

const judgeMatch = ({import: {state, flows, sources, slots}}: ImportProgress): StepState => {
  if (sources.length === 0) return todo
  const open = slots.filter(({sourceId}) => sourceId === null).length
  if (open > 0) return withProblems(open, t.missingFileCount)
  const questions = sources.flatMap(({problems}) => problems.filter(({kind}) => kind === 'encoding' || kind === 'undecodable')).length
  if (questions > 0) return withProblems(questions, t.questionCount)
  return state === 'draft' || flows.length === 0 ? todo : done
}

const judgeReview = ({checks, runs}: ImportProgress): StepState => {
  const tried = runs.find(({dryRun}) => dryRun)
  const state = checks?.checks.state ?? 'none'
  if (state === 'queued' || state === 'running' || (tried && tried.endedAt === null)) return busy
  if (!checks || checks.checks.endedAt === null) return state === 'none' ? todo : {state: 'todo', said: t.failedStep}
  if (checks.checks.stale) return {state: 'todo', said: t.outOfDate}
  const errors = checks.problems.filter(({severity}) => severity === 'error').length
  return errors > 0 ? withProblems(errors, t.problemCount) : done
}

const judgeRun = (run: RunOutline | undefined): StepState => {
  if (!run) return todo
  if (run.endedAt === null) return run.state === 'paused' ? {state: 'busy', said: t.pausedStep} : busy
  if (run.stop) return {state: 'todo', said: t.stoppedStep}
  return run.stale ? {state: 'todo', said: t.outOfDate} : done
}

const judges: Record<StepKey, (importProgress: ImportProgress) => StepState> = {
  match: judgeMatch,
  review: judgeReview,
  run: ({runs}) => judgeRun(runs.find(({dryRun}) => !dryRun)),
  results: ({runs}) => (runs.some(({dryRun, endedAt}) => !dryRun && endedAt !== null) ? done : todo),
}
