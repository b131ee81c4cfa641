/** A run as the API answers it: `GET /orgs/{org}/imports/{id}/runs/{run}`. */
export type Run = {
  id: string
  importId: string | null
  importName?: string | null
  connectorId: string | null
  state: 'authorised' | 'queued' | 'writing' | 'paused' | 'closing' | 'ended'
  engine: 'worker' | 'outside' | null
  dryRun: boolean
  retryOf: string | null
  rows: {from?: number; to?: number} | null
  declaredRows: number
  rowsPerRun: number
  rowsWritten: number
  overageRows: number
  counts: Counts
  questions: number
  progress: Progress | null
  stop: Stop | null
  pause: {code: string; message: string} | null
  stoppedBy: 'allowance' | null
  outcome: string | null
  authorisedAt: string
  startedAt: string | null
  endedAt: string | null
  expiredAt: string | null
}
export type Counts = Record<string, Record<string, number>>
export type Progress = {done: number; total: number; rowsPerSecond: number | null; etaSeconds: number | null}
export type Stop = {stopped: string; message: string; rowsPerRun?: number; stoppedBy?: 'plan' | 'declaration'; rowsWrittenTotal?: number}

/** A run told again by its events; what they do not tell stays as it was. */
export const withEvent = (run: Run, {event, data}: {event: string; data: unknown}): Run => {
  if (event === 'end' || event === 'asked') return {...run, ...(data as {run: Run}).run}
  return event === 'state' || event === 'progress' ? {...run, ...(data as Partial<Run>)} : run
}

export const isOver = ({state}: Pick<Run, 'state'>): boolean => state === 'ended'
export const isUnderWay = ({state}: Pick<Run, 'state'>): boolean => state !== 'ended' && state !== 'authorised'

type Tone = 'neutral' | 'info' | 'good' | 'warning' | 'bad'

const stateWords: Record<Run['state'], string> = {
  authorised: 'Not begun',
  queued: 'Waiting for its turn',
  writing: 'Under way',
  paused: 'Paused',
  closing: 'Ending',
  ended: 'Done',
}

/** How a run stands, in a word or two. */
export const sayState = ({state, stop, dryRun}: Pick<Run, 'state' | 'stop' | 'dryRun'>): {word: string; tone: Tone} => {
  if (state === 'ended' && stop?.stopped === 'CANCELLED') return {word: 'Cancelled', tone: 'neutral'}
  if (state === 'ended' && stop && !dryRun) return {word: 'Stopped', tone: 'bad'}
  if (state === 'ended') return {word: 'Done', tone: 'good'}
  if (stop) return {word: 'Stopping', tone: 'warning'}
  if (state === 'writing' && dryRun) return {word: 'Trying', tone: 'info'}
  return {word: stateWords[state], tone: state === 'paused' ? 'warning' : 'info'}
}

export const kindOf = ({dryRun, retryOf}: Pick<Run, 'dryRun' | 'retryOf'>): string => {
  if (dryRun) return retryOf ? 'Dry run of a retry' : 'Dry run'
  return retryOf ? 'Retry' : 'Run'
}

/** The rows of every file it was given, in words; null where that is all of them. */
export const sayRange = (rows: Run['rows']): string | null => {
  if (!rows || (rows.from === undefined && rows.to === undefined)) return null
  const {from = 1, to} = rows
  if (to === undefined) return `from row ${from} on`
  return from === to ? `row ${from} alone` : `rows ${from} to ${to}`
}

/** What carries each run on, by the id of the one that is carried on. */
export const laterOf = (runs: Run[]): Map<string, Run> =>
  new Map(runs.flatMap(run => (run.retryOf && !run.dryRun ? [[run.retryOf, run]] : [])))

/** Runs with those that carry them on behind them, the newest chain first; dry runs are chains of their own. */
export const chainsOf = (runs: Run[]): Run[][] => {
  const later = laterOf(runs)
  const known = new Set(runs.map(({id}) => id))
  const firsts = runs.filter(({retryOf, dryRun}) => dryRun || retryOf === null || !known.has(retryOf))
  const follow = (run: Run): Run[] => {
    const chain = [run]
    for (let next = later.get(run.id); next && !run.dryRun && chain.length < runs.length; next = later.get(next.id)) chain.push(next)
    return chain
  }
  return firsts.map(follow).toSorted((a, b) => (b.at(-1)!.authorisedAt < a.at(-1)!.authorisedAt ? -1 : 1))
}
