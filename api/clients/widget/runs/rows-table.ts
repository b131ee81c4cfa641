import {useState} from 'preact/hooks'
import {html, type Markup} from '../html.ts'
import {embed} from '../state/embed.ts'
import {inSentence} from '../text/language.ts'
import {t} from '../text/runs.ts'
import {count} from '../ui/format.ts'
import {Pill, type Tone} from '../ui/pill.ts'
import {type Change, type Entry, linesOf, type RunRow, whyOfEntry} from './row.ts'
import {RowDetail} from './row-detail.ts'
import {sayOutcome} from './rows-query.ts'
import type {Run} from './run.ts'
import {type ActionKey, actionWords, type OutcomeKey, outcomeWords} from './tally.ts'
import type {Source} from './use-tally.ts'
import {adviceOf} from './why.ts'

/** The cells of the shown rows. `keys`: the columns by which people recognise a row. `fields`: which column fills which field. */
export type Cells = {
  columns: string[]
  rows: {rowNumber: number; cells: string[]}[]
  keys: string[]
  fields: {flowId: string; field: string; column: string}[]
}
type TableProps = {importId: string; run: Run; rows: RunRow[]; cells: Cells | null; source: Source; isNew: boolean; empty: Markup}

export const RowsTable = ({importId, run, rows, cells, source, isNew, empty}: TableProps) => {
  const [open, setOpen] = useState<number | null>(null)
  if (rows.length === 0) return html`<div class="empty">${empty}</div>`
  const hasModules = new Set(rows.flatMap(({entries}) => entries.map(({module}) => module))).size > 1
  const heads = [
    t.row,
    run.dryRun ? t.action : t.outcome,
    ...(hasModules ? [t.module] : []),
    t.recordHead,
    run.dryRun ? t.oldNew : t.reasonAndAdvice,
  ]
  const lines = rows.flatMap(row =>
    linesOf(row).map((line, at) => ({...line, row, isFirst: at === 0, isLast: at === linesOf(row).length - 1})),
  )
  return html`
    <div class="table-frame rows-table" aria-busy=${isNew ? 'true' : undefined}>
      <table class="cards">
        <caption class="unseen">${run.dryRun ? t.plannedActionsByRow : t.resultsByRow}</caption>
        <thead><tr>${heads.map(head => html`<th scope="col">${head}</th>`)}</tr></thead>
        <tbody>
          ${lines.map(({entry, links, row, isFirst, isLast}) => {
            const isOpen = open === row.rowNumber
            const toggle = () => setOpen(isOpen ? null : row.rowNumber)
            return html`
              <tr key=${`${row.rowNumber} ${entry.flowId} ${entry.phase} ${entry.field}`} class=${isLast ? '' : 'goes-on'}>
                <th scope="row" data-label=${t.row}>${isFirst && html`<button type="button" class="row-toggle" aria-expanded=${isOpen ? 'true' : 'false'} aria-label=${(isOpen ? t.hideDetails : t.showDetails)(count(row.rowNumber))} onClick=${toggle}>${count(row.rowNumber)}</button><${Face} cells=${cells} row=${row.rowNumber} />`}</th>
                <td data-label=${heads[1]}><${How} entry=${entry} /></td>
                ${hasModules && html`<td data-label=${t.module}>${entry.moduleLabel}</td>`}
                <td data-label=${t.recordHead} class=${entry.recordId ? 'record-cell' : 'no-record'}><${RecordLink} entry=${entry} /></td>
                <td data-label="" class="why-cell">${run.dryRun && entry.changes ? html`<${Changes} changes=${entry.changes} isNew=${entry.recordId === null} />` : html`<${Said} entry=${entry} value=${offendingCell(cells, row.rowNumber, entry)} />`}${links.map(link => html`<p class="hint">${whyOfEntry(link)}</p>`)}</td>
              </tr>
              ${isOpen && isLast && html`<tr key=${`${row.rowNumber}-open`} class="detail-row"><td data-label="" colspan=${heads.length}><${RowDetail} importId=${importId} run=${run} row=${row} source=${source} /></td></tr>`}
            `
          })}
        </tbody>
      </table>
    </div>
  `
}

const PHASE_WORDS: Partial<Record<Entry['phase'], string>> = {patch: t.patch, tag: t.tags}

/** Labels for codes that say what was done to a record. These labels replace the label of the outcome. */
const DONE_WORDS: Record<string, string> = {DELETED: t.deleted, RESTORED: t.restored}

const How = ({entry: {action, outcome, phase, code}}: {entry: Entry}) => {
  if (action !== null) return html`<${Pill} tone=${actionWords[action as ActionKey].tone}>${actionWords[action as ActionKey].word}<//>`
  const tone: Tone = outcomeWords[outcome as OutcomeKey]?.tone ?? 'neutral'
  return html`<${Pill} tone=${tone}>${PHASE_WORDS[phase] ? `${PHASE_WORDS[phase]}: ${inSentence(sayOutcome(outcome))}` : (DONE_WORDS[code ?? ''] ?? sayOutcome(outcome))}<//>`
}

/** Returns a cell of a row, or an empty text if the cell is not loaded. */
export const cellOf = (cells: Cells | null, row: number, column: string): string =>
  cells?.rows.find(({rowNumber}) => rowNumber === row)?.cells[cells.columns.indexOf(column)] ?? ''

/** Shows the values by which people recognise the row. */
const Face = ({cells, row}: {cells: Cells | null; row: number}) => {
  const values = (cells?.keys ?? []).map(column => cellOf(cells, row, column)).filter(value => value !== '')
  return values.length > 0 && html` <span class="row-face">${values.join(' · ')}</span>`
}

/** Returns the cell that fills the field of a failed or refused entry. Null for other outcomes, and if no column fills the field. */
const offendingCell = (cells: Cells | null, row: number, {flowId, field, outcome}: Entry): {column: string; value: string} | null => {
  const column = cells?.fields.find(one => one.flowId === flowId && one.field === field)?.column
  return column && ['failed', 'refused'].includes(outcome) ? {column, value: cellOf(cells, row, column)} : null
}

const RecordLink = ({entry: {recordId, recordUrl}}: {entry: Entry}) => {
  if (!recordId) return html`<span class="quiet">–</span>`
  return recordUrl
    ? html`<a href=${recordUrl} target="_blank" rel="noopener noreferrer">${t.openInCrm}<span class="unseen"> ${t.recordInANewTab(recordId)}</span></a>`
    : html`<code>${recordId}</code>`
}

const Said = ({entry, value}: {entry: Entry; value: {column: string; value: string} | null}) => {
  const why = whyOfEntry(entry)
  const advice = adviceOf(entry)
  if (!why && !advice) return html`<span class="quiet">–</span>`
  return html`${why && html`<p>${why}</p>`}${value && html`<p class="row-value">${value.column}: ${value.value === '' ? html`<span class="quiet">${t.empty}</span>` : html`<mark>${value.value}</mark>`}</p>`}${advice && html`<p class="hint">${advice}</p>`}`
}

const mostChanges = 6

/**
 * Shows the old and new values of the first six changed fields, and of all fields on request. Embed sessions and new records show only new values.
 */
export const Changes = ({changes, ...record}: {changes: Change[]; isNew: boolean}) => {
  const isNew = record.isNew || embed.value !== null
  const [isAll, setAll] = useState(false)
  if (changes.length === 0) return html`<span class="quiet">${t.noChanges}</span>`
  const shown = isAll ? changes : changes.slice(0, mostChanges)
  return html`
    <dl class=${`plan-changes ${isNew ? 'all-new' : ''}`}>
      ${shown.map(change => html`<div><dt>${change.label}</dt><dd>${!isNew && html`<del>${change.old || html`<span class="quiet">${t.empty}</span>`}</del> <span aria-label=${t.becomes}>→</span> `}<ins>${change.new || html`<span class="quiet">${t.empty}</span>`}</ins></dd></div>`)}
    </dl>
    ${changes.length > mostChanges && html`<button type="button" class="button quiet" onClick=${() => setAll(!isAll)}>${isAll ? t.showFewer : t.showMore(changes.length - mostChanges)}</button>`}
  `
}
