import type {Json} from '../http.ts'
import {EXIT} from './exit-codes.ts'
import type {Output} from './output.ts'
import {sumCounts} from './progress.ts'
import {clean, count, duration, plural} from './words.ts'

export const FAIL_ON = ['refused', 'skipped', 'never'] as const
/** Which rows that were not written make a command end with 2. */
export type FailOn = (typeof FAIL_ON)[number]

const unwritten = ['refused', 'failed', 'unanswered']

/** What a run that ended comes to for a script. A stop goes before rows: those it did not come to are in no count. */
export const exitOf = ({stop, counts}: Json, failOn: FailOn): number => {
  if (stop) return EXIT.stopped
  const sums = sumCounts(counts)
  const counted = failOn === 'never' ? [] : failOn === 'skipped' ? [...unwritten, 'skipped'] : unwritten
  return counted.some(outcome => (sums[outcome] ?? 0) > 0) ? EXIT.rows : EXIT.ok
}

/** What became of a run, for people: counts by module, why it stopped, and what to do next. */
export const describeEnding = (out: Output, run: Json): string[] => {
  const {counts, stop, dryRun, questions, startedAt, endedAt, id} = run
  const seconds = startedAt && endedAt ? (Date.parse(endedAt) - Date.parse(startedAt)) / 1000 : 0
  const what = dryRun ? 'The dry run' : 'The run'
  const head = stop
    ? `${out.style(['bold', 'red'], `${what} was stopped`)}: ${clean(stop.message)} (${clean(stop.stopped)})`
    : `${out.style('bold', `${what} ended`)} after ${duration(seconds)}`
  return [head, ...countLines(out, counts), ...questionLines(run, questions), ...nextLines(out, run, id)]
}

const COLOURS: Record<string, 'green' | 'red' | 'yellow' | 'dim'> = {
  ...{created: 'green', updated: 'green', inherited: 'green', planned: 'green'},
  ...{refused: 'red', failed: 'red', unanswered: 'red', skipped: 'yellow', filtered: 'dim'},
}

const countLines = (out: Output, counts: Record<string, Record<string, number>>) =>
  Object.entries(counts).map(([module, of]) => {
    const parts = Object.entries(of)
      .filter(([, rows]) => rows > 0)
      .map(([outcome, rows]) => out.style(COLOURS[outcome] ?? 'dim', `${count(rows)} ${outcome}`))
    return `  ${clean(module)}: ${parts.join(', ') || 'no rows'}`
  })

const questionLines = ({importId, id}: Json, questions: number) =>
  questions > 0
    ? [
        `${plural(questions, 'question')} wait for an answer, in the browser or at /imports/${importId}/runs/${id}/questions; a retry applies it.`,
      ]
    : []

const nextLines = (out: Output, {dryRun, counts, stop, importId}: Json, id: string): string[] => {
  if (!importId) return []
  const sums = sumCounts(counts)
  const isOpen = Boolean(stop) || [...unwritten, 'skipped'].some(outcome => (sums[outcome] ?? 0) > 0)
  const steps: [command: string, why: string][] = dryRun
    ? [
        [`lading results ${id} --plan`, 'what would be written, row by row'],
        [`lading run ${importId} --watch`, 'write it'],
      ]
    : isOpen
      ? [
          [`lading results ${id} --failed -o failed.csv`, 'the rows to be put right'],
          [`lading logs ${id} --failed`, 'why, row by row'],
          [`lading retry ${id} --watch`, 'carry it on'],
        ]
      : [[`lading results ${id}`, 'the file with its record ids']]
  const widest = Math.max(...steps.map(([command]) => command.length))
  const lines = steps.map(([command, why]) => [`  ${command}`, `  ${command.padEnd(widest)}  # ${why}`] as const)
  const isRoomy = lines.every(([, whole]) => whole.length <= out.width())
  return ['Next:', ...lines.map(([short, whole]) => (isRoomy ? whole : short))]
}
