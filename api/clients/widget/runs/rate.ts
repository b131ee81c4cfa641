import type {Run} from './run.ts'
import {type OutcomeKey, sumCounts} from './tally.ts'

/** How a run stood at a moment: `at` in ms since 1970, rows by what the chart tells apart. */
export type Sample = {at: number; done: number; parts: number[]}

/** What the chart tells apart, from the ground up. */
export const chartParts: {label: string; of: OutcomeKey[]; tone: string}[] = [
  {label: 'Created', of: ['created', 'planned'], tone: 'good'},
  {label: 'Updated', of: ['updated'], tone: 'info'},
  {label: 'Skipped or written before', of: ['skipped', 'inherited', 'filtered'], tone: 'neutral'},
  {label: 'Failed or refused', of: ['failed', 'refused'], tone: 'bad'},
  {label: 'No answer', of: ['unanswered'], tone: 'warning'},
]

const mostSamples = 240
/** The rate is that of the last so many ms: long enough to be calm, short enough to see a pause. */
const windowMs = 20_000

export const sampleOf = (run: Pick<Run, 'counts' | 'progress'>, at: number): Sample => {
  const sum = sumCounts(run.counts)
  return {at, done: run.progress?.done ?? 0, parts: chartParts.map(({of}) => of.reduce((rows, key) => rows + sum[key], 0))}
}

/** One more sample. Of too many every second one goes, but for the first and the last, so that a long run keeps its shape. */
export const addSample = (samples: Sample[], next: Sample): Sample[] => {
  const last = samples.at(-1)
  if (last && next.at <= last.at) return samples
  const all = [...samples, next]
  return all.length <= mostSamples ? all : all.filter((_, at) => at === 0 || at === all.length - 1 || at % 2 === 1)
}

/** Rows per second of late; null before there is anything to say it from. */
export const rateOf = (samples: Sample[], now: number): number | null => {
  const last = samples.at(-1)
  const from = samples.findLast(({at}) => at <= now - windowMs) ?? samples[0]
  if (!last || !from || now - from.at < 1000) return null
  return ((last.done - from.done) / (now - from.at)) * 1000
}

/** Ms to go at that rate; null where it cannot be told. */
export const etaOf = (run: Pick<Run, 'progress'>, rate: number | null): number | null => {
  if (!run.progress || !rate) return null
  return (Math.max(0, run.progress.total - run.progress.done) / rate) * 1000
}

/** For a stacked chart: seconds since 1970, and for each part the rows of it and of all below it. */
export const stack = (samples: Sample[]): number[][] => [
  samples.map(({at}) => at / 1000),
  ...chartParts.map((_, part) => samples.map(({parts}) => parts.slice(0, part + 1).reduce((sum, rows) => sum + rows, 0))),
]
