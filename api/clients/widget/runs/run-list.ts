import {html} from '../html.ts'
import {to} from '../state/place.ts'
import {at, count, duration, plural} from '../ui/format.ts'
import {Pill} from '../ui/pill.ts'
import type {Column} from '../ui/table.ts'
import {kindOf, type Run, sayRange, sayState} from './run.ts'
import {type OutcomeKey, outcomeKeys, sumCounts, wordsOf} from './tally.ts'
import {RunMenu} from './undo.ts'

/** Returns the URL of a run's page, or null for a run without an import. */
export const addressOf = ({id, importId, dryRun, undoOf}: Run): string | null =>
  importId === null ? null : to('imports', importId, dryRun && !undoOf ? 'review' : 'run', {run: id})

const short: Partial<Record<OutcomeKey, string>> = {
  planned: 'would be written',
  inherited: 'already written',
  filtered: 'filtered out',
  unanswered: 'without answer',
}

/** Formats the outcomes of a run in short, without zeros. */
export const sayCounts = (run: Pick<Run, 'counts' | 'undoOf' | 'deleted'>): string => {
  const sum = sumCounts(run.counts)
  const parts = outcomeKeys
    .filter(key => sum[key] > 0)
    .map(key => `${count(sum[key])} ${short[key] ?? wordsOf(run, key).word.toLowerCase()}`)
  return parts.join(', ') || 'no rows yet'
}

const sayTook = ({startedAt, endedAt}: Run) =>
  startedAt && endedAt ? duration(Math.max(1000, Date.parse(endedAt) - Date.parse(startedAt))) : '–'

/** Returns the columns of every list of runs. Those of `first` come first. */
export const runColumns = (first: Column<Run>[]): Column<Run>[] => [
  ...first,
  {
    head: 'State',
    cell: run => {
      const {word, tone} = sayState(run)
      return html`<${Pill} tone=${tone}>${word}<//>`
    },
  },
  {
    head: 'Rows',
    cell: run =>
      html`${sayCounts(run)}${run.progress && run.state !== 'ended' && html`<span class="hint"> of ${plural(run.progress.total, 'row')}</span>`}${run.questions > 0 && run.importId && !run.dryRun && html` · <a href=${to('imports', run.importId, 'questions', {run: run.id})}>${plural(run.questions, 'question')}</a>`}`,
  },
  {head: 'Started', cell: run => at(run.startedAt ?? run.authorisedAt)},
  {head: 'Duration', cell: sayTook},
  {head: '', label: 'Actions', cell: run => html`<${RunMenu} run=${run} />`},
]

/** Shows the label of a run in a list: its kind and row range. */
export const RunName = ({run}: {run: Run}) => {
  const address = addressOf(run)
  const range = sayRange(run.rows)
  return html`${address ? html`<a href=${address}>${kindOf(run)}</a>` : kindOf(run)}${range && html` <span class="hint">${range}</span>`}`
}
