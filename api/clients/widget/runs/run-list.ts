import {html} from '../html.ts'
import {to} from '../state/place.ts'
import {inSentence} from '../text/language.ts'
import {t} from '../text/runs.ts'
import {at, count, duration} from '../ui/format.ts'
import {Pill} from '../ui/pill.ts'
import type {Column} from '../ui/table.ts'
import {kindOf, type Run, sayRange, sayState} from './run.ts'
import {type OutcomeKey, outcomeKeys, sumCounts, wordsOf} from './tally.ts'
import {RunMenu} from './undo.ts'

export const addressOf = ({id, importId, dryRun, undoOf}: Run): string | null =>
  importId === null ? null : to('imports', importId, dryRun && !undoOf ? 'review' : 'run', {run: id})

const short: Partial<Record<OutcomeKey, string>> = {
  planned: t.wouldBeWritten,
  inherited: t.alreadyWritten,
  filtered: t.filteredOut,
  unanswered: t.withoutAnswer,
}

export const sayCounts = (run: Pick<Run, 'counts' | 'undoOf' | 'deleted'>): string => {
  const sum = sumCounts(run.counts)
  const parts = outcomeKeys.filter(key => sum[key] > 0).map(key => `${count(sum[key])} ${short[key] ?? inSentence(wordsOf(run, key).word)}`)
  return parts.join(', ') || t.noRowsYet
}

const sayTook = ({startedAt, endedAt}: Run) =>
  startedAt && endedAt ? duration(Math.max(1000, Date.parse(endedAt) - Date.parse(startedAt))) : '–'

/** Returns `first`, followed by the columns that all lists of runs share. */
export const runColumns = (first: Column<Run>[]): Column<Run>[] => [
  ...first,
  {
    head: t.state,
    cell: run => {
      const {word, tone} = sayState(run)
      return html`<${Pill} tone=${tone}>${word}<//>`
    },
  },
  {
    head: t.rows,
    cell: run =>
      html`${sayCounts(run)}${run.progress && run.state !== 'ended' && html`<span class="hint"> ${t.ofTotal(run.progress.total)}</span>`}${run.questions > 0 && run.importId && !run.dryRun && html` · <a href=${to('imports', run.importId, 'questions', {run: run.id})}>${t.questionCount(run.questions)}</a>`}`,
  },
  {head: t.startedHead, cell: run => at(run.startedAt ?? run.authorisedAt)},
  {head: t.duration, cell: sayTook},
  {head: '', label: t.actions, cell: run => html`<${RunMenu} run=${run} />`},
]

export const RunName = ({run}: {run: Run}) => {
  const address = addressOf(run)
  const range = sayRange(run.rows)
  return html`${address ? html`<a href=${address}>${kindOf(run)}</a>` : kindOf(run)}${range && html` <span class="hint">${range}</span>`}`
}
