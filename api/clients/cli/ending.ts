import type {Json} from '../http.ts'
import type {Group} from '../run-reasons.ts'
import {describeRunState, describeUndone} from '../run-state.ts'
import {EXIT} from './exit-codes.ts'
import type {Output} from './output.ts'
import {clean, count, describeOutcome, duration, plural} from './phrases.ts'
import {sumCounts} from './progress.ts'
import {reasonLines} from './reasons.ts'

export const FAIL_ON = ['refused', 'skipped', 'never'] as const
/** Which rows make a command exit with 2. `refused`: refused, failed and unanswered rows. `skipped`: skipped rows too. `never`: none. */
export type FailOn = (typeof FAIL_ON)[number]

const unwritten = ['refused', 'failed', 'unanswered']

/**
 * Returns the exit code of an ended run. A stop takes precedence, because no count includes unread rows. Unless `failOn` is `never`, a row that
 * changed after the plan is a failure, because the plan promised to write it.
 */
export const exitOf = ({stop, counts, unchanged = 0, keptRows = 0, planStale = 0}: Json, failOn: FailOn): number => {
  if (stop) return EXIT.stopped
  if (planStale > 0 && failOn !== 'never') return EXIT.rows
  const sums = withoutSettled(sumCounts(counts), unchanged + keptRows)
  const counted = failOn === 'never' ? [] : failOn === 'skipped' ? [...unwritten, 'skipped'] : unwritten
  return counted.some(outcome => (sums[outcome] ?? 0) > 0) ? EXIT.rows : EXIT.ok
}

/** `plan`: the sealed plan of a dry run. `isUndoable`: whether a finished undo can itself be undone. */
type EndingFacts = {plan?: Json; isUndoable?: boolean}

export const describeEnding = (
  out: Output,
  run: Json,
  reasons: readonly Group[] = [],
  {plan = null, isUndoable = true}: EndingFacts = {},
): string[] => {
  const {counts, stop, questions, startedAt, endedAt, id} = run
  const seconds = startedAt && endedAt ? (Date.parse(endedAt) - Date.parse(startedAt)) / 1000 : 0
  const {word, tone} = describeRunState(run as Parameters<typeof describeRunState>[0], count)
  const reason = stop ? `: ${clean(stop.message)} (${clean(stop.stopped)})` : ''
  const head = `${out.style(['bold', TONES[tone]], word)} after ${duration(seconds)}${reason}`
  return [
    head,
    ...undoLines(run),
    ...countLines(out, counts),
    ...unchangedLines(run),
    ...unmappedLines(run),
    ...keptEditLines(run),
    ...staleLines(run),
    ...verifyLines(run),
    ...linkLines(run),
    ...questionLines(run, questions),
    ...reasonLines(reasons, run.dryRun),
    ...planLines(out, plan),
    ...nextLines(out, run, {id, plan, isUndoable}),
  ]
}

const TONES = {neutral: 'dim', info: 'cyan', good: 'green', warning: 'yellow', bad: 'red'} as const

const COLOURS: Record<string, 'green' | 'red' | 'yellow' | 'dim'> = {
  created: 'green',
  updated: 'green',
  inherited: 'green',
  planned: 'green',
  refused: 'red',
  failed: 'red',
  unanswered: 'red',
  skipped: 'yellow',
  filtered: 'dim',
}

/** Subtracts `settled`: skipped rows that need no retry, such as unchanged rows. */
const withoutSettled = (sums: Record<string, number>, settled: number): Record<string, number> => ({
  ...sums,
  skipped: (sums.skipped ?? 0) - settled,
})

const undoLines = (run: Json): string[] => {
  const said = describeUndone(run, count)
  return said === null ? [] : [`  Rows: ${said}`]
}

const unchangedLines = ({unchanged = 0, creditsSaved}: Json) =>
  unchanged > 0
    ? [`  ${count(unchanged)} skipped rows were unchanged${creditsSaved ? `, which saved ${plural(creditsSaved, 'CRM credit')}` : ''}.`]
    : []

const unmappedLines = ({unmapped = []}: Json): string[] =>
  unmapped.map(
    ({flowId, field, cells}: Json) =>
      `  ${clean(field)} of flow ${clean(flowId)}: ${plural(cells, 'cell')} without an entry in the value map.`,
  )

const linkLines = ({dryRun, linksEmpty = []}: Json): string[] =>
  (linksEmpty as {flowId: string | null; field: string; rows: number}[]).map(
    ({flowId, field, rows}) =>
      `  ${plural(rows, 'link')} in ${clean(field)} left empty${flowId === null ? '' : ` by flow ${clean(flowId)}`}. ${dryRun ? 'Import the linked records first.' : 'A retry fills them once the records exist.'}`,
  )

const keptEditLines = ({keptEdits = 0}: Json) =>
  keptEdits > 0 ? [`  ${plural(keptEdits, 'value')} that people changed in the CRM ${keptEdits === 1 ? 'was' : 'were'} kept.`] : []

const staleLines = ({planStale = 0}: Json) =>
  planStale > 0
    ? [
        `  ${plural(planStale, 'row')} skipped, because the row or its record changed after the plan. Make a new plan to write ${planStale === 1 ? 'it' : 'them'}: lading plan FILE`,
      ]
    : []

const planLines = (out: Output, plan: Json): string[] => {
  if (!plan) return []
  const {rows, digest, expiresAt, needsApproval, approvedAt} = plan
  return [
    `Plan: ${plural(rows, 'row')}, valid until ${out.time(expiresAt)}`,
    `Digest: ${digest}`,
    ...(needsApproval && !approvedAt ? ['Another admin must approve the plan in the browser before it can be applied.'] : []),
  ]
}

const countPatches = (patches: number) => plural(patches, 'patch', 'patches')

export const verifyLines = ({id, verify}: Json): string[] => {
  if (!verify || verify.rows + verify.unverified === 0) return []
  const differing = [
    [count, verify.coerced, 'with values that the CRM cut or converted'] as const,
    [count, verify.changed, 'with values changed since'] as const,
    [count, verify.missing, 'whose record is gone'] as const,
    [count, verify.unread, 'that the CRM did not show'] as const,
    [countPatches, verify.patchesCoerced, 'with values that the CRM cut or converted'] as const,
    [countPatches, verify.patchesChanged, 'with values changed since'] as const,
  ].flatMap(([say, number, what]) => (number > 0 ? [`${say(number)} ${what}`] : []))
  const found = differing.length > 0 ? `: ${differing.join(', ')}. See /verify.csv of run ${id}` : ', all as sent'
  const left = verify.unverified > 0 ? [`  ${plural(verify.unverified, 'written row')} not read back.`] : []
  return [`  ${plural(verify.rows, 'written row')} read back${found}.`, ...left]
}

const countLines = (out: Output, counts: Record<string, Record<string, number>>) =>
  Object.entries(counts).map(([module, of]) => {
    const parts = Object.entries(of)
      .filter(([, rows]) => rows > 0)
      .map(([outcome, rows]) => out.style(COLOURS[outcome] ?? 'dim', describeOutcome(outcome, rows)))
    return `  ${clean(module)}: ${parts.join(', ') || 'no rows'}`
  })

/** A retried run has no open questions, because its retry asks them. */
const questionLines = ({importId, id, dryRun, retriedBy, questionsAnswered = 0}: Json, questions: number) => {
  const open = questions - questionsAnswered
  if (retriedBy) return []
  if (dryRun) return open > 0 ? [`A run would ask ${plural(open, 'question')}.`] : []
  if (open === 0 && questions > 0)
    return [`${plural(questions, 'question')} ${questions === 1 ? 'is' : 'are'} answered. Retry the run to write the waiting rows.`]
  return open > 0
    ? [
        `${plural(open, 'question')} ${open === 1 ? 'needs' : 'need'} an answer. Answer in the browser or at /imports/${importId}/runs/${id}/questions, then retry the run.`,
      ]
    : []
}

type Step = [command: string, why: string]

const nextLines = (
  out: Output,
  {dryRun, undoOf, counts, stop, importId, engine, unchanged = 0, keptRows = 0, planStale = 0, linksEmpty = []}: Json,
  {id, plan, isUndoable}: {id: string; plan: Json; isUndoable: boolean},
): string[] => {
  const isExternal = !importId || engine === 'outside'
  const sums = withoutSettled(sumCounts(counts), unchanged + keptRows + planStale)
  const isOpen = Boolean(stop) || linksEmpty.length > 0 || [...unwritten, 'skipped'].some(outcome => (sums[outcome] ?? 0) > 0)
  if (isExternal && !isOpen) return []
  const whyStep: Step = [`lading logs ${id} --failed`, 'why, row by row']
  const listSteps = (): Step[] => {
    if (isExternal) return [whyStep]
    if (engine === null) return [[`lading run ${importId} --watch`, 'start another run']]
    if (undoOf) return undoSteps({dryRun, undoOf, stop, id, isUndoable})
    if (dryRun) return [[`lading results ${id} --plan`, 'what would be written, row by row'], ...applySteps({importId, id, plan})]
    if (!isOpen) return [[`lading results ${id}`, 'the file with its record ids']]
    return [[`lading results ${id} --failed -o failed.csv`, 'the rows to fix'], whyStep, [`lading retry ${id} --watch`, 'retry the run']]
  }
  const steps = listSteps()
  const widest = Math.max(...steps.map(([command]) => command.length))
  const lines = steps.map(([command, why]) => [`  ${command}`, `  ${command.padEnd(widest)}  # ${why}`] as const)
  const isRoomy = lines.every(([, whole]) => whole.length <= out.width())
  return ['Next:', ...lines.map(([short, whole]) => (isRoomy ? whole : short))]
}

/** A plan without rows has nothing to apply. */
const applySteps = ({importId, id, plan}: {importId: string; id: string; plan: Json}): Step[] => {
  if (!plan) return [[`lading run ${importId} --watch`, 'write it']]
  return plan.rows > 0 ? [[`lading apply ${id} --watch`, 'write exactly this plan']] : []
}

type UndoRun = {dryRun: boolean; undoOf: string; stop: {stopped: string} | null; id: string; isUndoable: boolean}

const undoSteps = ({dryRun, undoOf, stop, id, isUndoable}: UndoRun): Step[] => {
  const logs: Step = [`lading logs ${id}`, 'row by row']
  if (stop?.stopped === 'UNDO_EXPIRED') return [logs]
  if (dryRun) return [logs, [`lading undo ${undoOf} --watch`, 'undo it']]
  if (stop) return [logs, [`lading undo ${undoOf} --watch`, 'continue the undo']]
  return isUndoable ? [logs, [`lading undo ${id} --watch`, 'take the undo back']] : [logs]
}
