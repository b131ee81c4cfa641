import {html, type Markup} from '../html.ts'

export type Column<T> = {
  head: Markup
  cell: (row: T) => Markup
  isNumber?: boolean
  /** Whether the cells of this column are row headers (`<th scope="row">`). */
  isName?: boolean
  /** Replaces `head` on phones, where each cell shows its column. Screen readers get `label` if `head` is empty. */
  label?: string
}

type TableProps<T> = {caption: string; columns: Column<T>[]; rows: T[]; keyOf: (row: T) => string; empty?: Markup; isWide?: boolean}

/** A table whose rows become cards on a phone. With `isWide`, used for cells of a file, the table scrolls instead. */
export const Table = <T>({caption, columns, rows, keyOf, empty, isWide = false}: TableProps<T>) => {
  if (rows.length === 0 && empty) return html`<div class="empty">${empty}</div>`
  return html`
    <div class="table-frame" tabindex=${isWide ? '0' : undefined} role=${isWide ? 'region' : undefined} aria-label=${isWide ? caption : undefined}>
      <table class=${isWide ? 'wide' : 'cards'}>
        <caption class="unseen">${caption}</caption>
        <thead>
          <tr>${columns.map(({head, isNumber, label}) => html`<th scope="col" class=${isNumber ? 'number' : ''}>${head || html`<span class="unseen">${label}</span>`}</th>`)}</tr>
        </thead>
        <tbody>
          ${rows.map(row => html`<tr key=${keyOf(row)}>${columns.map(column => cellOf(column, row))}</tr>`)}
        </tbody>
      </table>
    </div>
  `
}

const cellOf = <T>({cell, head, label, isNumber, isName}: Column<T>, row: T) => {
  const name = label ?? (typeof head === 'string' ? head : '')
  const shape = isNumber ? 'number' : ''
  return isName
    ? html`<th scope="row" class=${shape} data-label=${name}><div class="cell">${cell(row)}</div></th>`
    : html`<td class=${shape} data-label=${name}><div class="cell">${cell(row)}</div></td>`
}
