import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import type {Flow} from '../imports/import.ts'
import {t} from '../text/decide.ts'
import {count} from '../ui/format.ts'
import {Pill} from '../ui/pill.ts'
import {EditableCell} from './editable-cell.ts'
import {type Entry, linesOf, type RunRow, whyOfEntry} from './row.ts'
import {Changes} from './rows-table.ts'
import {type ActionKey, actionWords} from './tally.ts'

const WITHOUT_VALUES = new Set(['fail', 'delete'])

/** Resolves to whether the new value was saved. */
export type EditCell = (row: number, column: string, value: string | null) => Promise<boolean>
type Props = {
  row: RunRow
  /** The row's values in the order of `columns`. Null if the import no longer has the row. */
  cells: string[] | null
  columns: string[]
  keys: string[]
  flows: Flow[]
  edited: ReadonlyMap<string, string>
  edit: EditCell | null
}

/** A row of the review. A cell that caused an error is shown beside the error. */
export const ReviewRow = ({row, cells, columns, keys, flows, edited, edit}: Props) => {
  const [isOpen, setOpen] = useState(false)
  const {rowNumber} = row
  const lines = linesOf(row)
  const cell = (column: string) => {
    const value = cells?.[columns.indexOf(column)]
    if (value === undefined) return html`<span class="quiet">–</span>`
    return html`<${EditableCell} column=${column} row=${rowNumber} value=${value} isEdited=${edited.has(`${rowNumber} ${column}`)} edit=${edit} />`
  }
  const offending = lines
    .flatMap(({entry}) => (entry.action === 'fail' ? columnOf(flows, entry) : []))
    .filter(column => !keys.includes(column))
  return html`
    <tr>
      <th scope="row" data-label=${t.rowHead}><button type="button" class="row-toggle" aria-expanded=${isOpen ? 'true' : 'false'} aria-label=${(isOpen ? t.hideAllCells : t.showAllCells)(count(rowNumber))} onClick=${() => setOpen(!isOpen)}>${count(rowNumber)}</button></th>
      ${keys.map(key => html`<td data-label=${key}><div class="cell">${cell(key)}</div></td>`)}
      <td data-label=${t.result}><div class="cell">${lines.map(({entry}) => html`<${Action} entry=${entry} />`)}</div></td>
      <td data-label="" class="why-cell">
        ${lines.map(({entry}) => (entry.changes && !WITHOUT_VALUES.has(entry.action ?? '') ? html`<${Changes} changes=${entry.changes} isNew=${entry.recordId === null} />` : html`<p>${whyOfEntry(entry) ?? ''}</p>`))}
        ${[...new Set(offending)].map(column => html`<p class="offending"><span class="quiet">${column}:</span> ${cell(column)}</p>`)}
      </td>
    </tr>
    ${isOpen && html`<tr class="detail-row"><td data-label="" colspan=${keys.length + 3}><dl class="row-cells">${columns.map(column => html`<div><dt>${column}</dt><dd>${cell(column)}</dd></div>`)}</dl></td></tr>`}
  `
}

const Action = ({entry: {action, outcome}}: {entry: Entry}) =>
  action === null
    ? html`<${Pill}>${outcome}<//>`
    : html`<${Pill} tone=${actionWords[action as ActionKey].tone}>${actionWords[action as ActionKey].word}<//>`

/** Returns the column mapped to the field at which the entry failed, or an empty array. */
const columnOf = (flows: Flow[], {flowId, field}: Entry): string[] => {
  const mapping = flows.find(({id}) => id === flowId)?.fields.find(one => one.field === field)
  return mapping?.source ? [mapping.source] : []
}
