import {t} from '../text/runs.ts'
import type {Run} from './run.ts'
import {type OutcomeKey, sumCounts} from './tally.ts'

/** A point of the chart. `at`: ms since 1970. `done`: processed rows. `parts`: the rows of each part of the chart. */
export type Sample = {at: number; done: number; parts: number[]}

/** The parts of the chart, from the bottom up. */
export const chartParts: {label: string; of: OutcomeKey[]; tone: string}[] = [
  {label: t.created, of: ['created', 'planned'], tone: 'good'},
  {label: t.updated, of: ['updated'], tone: 'info'},
  {label: t.skippedOrAlreadyWritten, of: ['skipped', 'inherited', 'filtered'], tone: 'neutral'},
  {label: t.failedOrRefused, of: ['failed', 'refused'], tone: 'bad'},
  {label: t.noAnswer, of: ['unanswered'], tone: 'warning'},
]

const mostSamples = 240
/** The time span of the rate: long enough for a stable rate, short enough to show a pause. */
const windowMs = 20_000

export const sampleOf = (run: Pick<Run, 'counts' | 'progress'>, at: number): Sample => {
  const sum = sumCounts(run.counts)
  return {at, done: run.progress?.done ?? 0, parts: chartParts.map(({of}) => of.reduce((rows, key) => rows + sum[key], 0))}
}

/**
 * Returns the first point of the chart: zero rows at the start of the run. Empty if the start is unknown, or lies in the future by the browser's
 * clock, which may be behind the server's.
 */
export const firstSample = ({startedAt, progress}: Pick<Run, 'startedAt' | 'progress'>, now: number): Sample[] =>
  startedAt === null || Date.parse(startedAt) >= now
    ? []
    : [sampleOf({counts: {}, progress: progress && {...progress, done: 0}}, Date.parse(startedAt))]

/** Adds a sample. Above 240 samples, every second one is dropped, except the first and the last, so the chart of a long run keeps its shape. */
export const addSample = (samples: Sample[], next: Sample): Sample[] => {
  const last = samples.at(-1)
  if (last && next.at <= last.at) return samples
  const all = [...samples, next]
  return all.length <= mostSamples ? all : all.filter((_, at) => at === 0 || at === all.length - 1 || at % 2 === 1)
}

/** Returns the rate of the last 20 seconds in rows per second. Null without samples, or in the first second. */
export const rateOf = (samples: Sample[], now: number): number | null => {
  const last = samples.at(-1)
  const from = samples.findLast(({at}) => at <= now - windowMs) ?? samples[0]
  if (!last || !from || now - from.at < 1000) return null
  return ((last.done - from.done) / (now - from.at)) * 1000
}

/** Returns the remaining time in ms at `rate` rows per second. Null if the rate or the total is not known. */
export const etaOf = (run: Pick<Run, 'progress'>, rate: number | null): number | null => {
  if (!run.progress || !rate) return null
  return (Math.max(0, run.progress.total - run.progress.done) / rate) * 1000
}

/** Returns the data of a stacked chart: the seconds since 1970, then for each part its rows plus the rows of the parts below it. */
export const stack = (samples: Sample[]): number[][] => [
  samples.map(({at}) => at / 1000),
  ...chartParts.map((_, part) => samples.map(({parts}) => parts.slice(0, part + 1).reduce((sum, rows) => sum + rows, 0))),
]
