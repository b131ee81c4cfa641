import type {CheckProblem, Checks, Imported, RunOutline} from './import.ts'

/** The way of an import, in order; each is an address below the import's own. */
export const stepKeys = ['files', 'columns', 'mapping', 'check', 'try', 'run', 'results'] as const
export type StepKey = (typeof stepKeys)[number]

export const stepLabels: Record<StepKey, string> = {
  files: 'Files',
  columns: 'Columns',
  mapping: 'Mapping',
  check: 'Check',
  try: 'Try',
  run: 'Run',
  results: 'Results',
}

/** `problems`: what a person has to decide or mend there. `said`: how it stands, in words that are read out too. */
export type Step = {key: StepKey; label: string; state: 'done' | 'todo' | 'busy' | 'problems'; problems: number; said: string}

export type Standing = {import: Imported; checks: {checks: Checks; problems: CheckProblem[]} | null; runs: RunOutline[] | null}

/** How each step of an import stands, from what is known of it. */
export const stepsOf = (standing: Standing): Step[] =>
  stepKeys.map(key => {
    const {problems = 0, ...found} = judges[key](standing)
    return {key, label: stepLabels[key], problems, ...found}
  })

type Judged = Pick<Step, 'state' | 'said'> & {problems?: number}

const todo: Judged = {state: 'todo', said: 'to do'}
const done: Judged = {state: 'done', said: 'done'}
const busy: Judged = {state: 'busy', said: 'under way'}
const withProblems = (problems: number, what: string): Judged => ({
  state: 'problems',
  problems,
  said: `${problems} ${what}${problems === 1 ? '' : 's'}`,
})

const judgeFiles = ({import: {sources, slots}}: Standing): Judged => {
  if (sources.length === 0) return todo
  const open = slots.filter(({sourceId}) => sourceId === null).length
  if (open > 0) return withProblems(open, 'missing file')
  const questions = sources.flatMap(({problems}) => problems.filter(({kind}) => kind === 'encoding' || kind === 'undecodable')).length
  return questions > 0 ? withProblems(questions, 'question') : done
}

const judgeColumns = ({import: {sources}}: Standing): Judged => {
  if (sources.length === 0) return todo
  const open = sources.flatMap(({problems}) => problems.filter(({kind}) => kind === 'ambiguous')).length
  return open > 0 ? withProblems(open, 'question') : done
}

const judgeMapping = ({import: {state, flows}}: Standing): Judged => (state === 'draft' || flows.length === 0 ? todo : done)

const judgeCheck = ({checks}: Standing): Judged => {
  if (!checks || checks.checks.state === 'none') return todo
  const {state, stale, endedAt} = checks.checks
  if (state === 'queued' || state === 'running') return busy
  if (endedAt === null) return {state: 'todo', said: 'did not end'}
  if (stale) return {state: 'todo', said: 'out of date'}
  const errors = checks.problems.filter(({severity}) => severity === 'error').length
  return errors > 0 ? withProblems(errors, 'problem') : done
}

const judgeRun = (run: RunOutline | undefined): Judged => {
  if (!run) return todo
  if (run.endedAt === null) return run.state === 'paused' ? {state: 'busy', said: 'paused'} : busy
  return run.stop ? {state: 'todo', said: 'stopped'} : done
}

const judges: Record<StepKey, (standing: Standing) => Judged> = {
  files: judgeFiles,
  columns: judgeColumns,
  mapping: judgeMapping,
  check: judgeCheck,
  try: ({runs}) => judgeRun(runs?.find(({dryRun}) => dryRun)),
  run: ({runs}) => judgeRun(runs?.find(({dryRun}) => !dryRun)),
  results: ({runs}) => (runs?.some(({dryRun, endedAt}) => !dryRun && endedAt !== null) ? done : todo),
}
