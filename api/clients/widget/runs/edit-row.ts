import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {useKept} from '../state/kept.ts'
import {useDoing} from '../state/load.ts'
import {client, inOrg, may} from '../state/session.ts'
import {t} from '../text/decide.ts'
import {Button} from '../ui/button.ts'
import {TextField} from '../ui/field.ts'
import {Problem, say} from '../ui/notice.ts'
import type {RunRow} from './row.ts'
import {isOver, isRetriable, type Run} from './run.ts'

export type Cell = {column: string; value: string}
type EditRowProps = {importId: string; source: string; row: number; cells: Cell[]}

/**
 * Whether the person may correct the cells of a row. This requires the operator role, an ended run that can be retried, and a row that
 * failed or was refused. A row that only lacks tags counts as written, so a retry does not write its cells again.
 */
export const canFix = ({run, row: {entries}}: {run: Run; row: RunRow}): boolean =>
  isOver(run) &&
  isRetriable(run) &&
  !run.retriedBy &&
  may('operator') &&
  entries.some(({phase, outcome}) => phase !== 'tag' && (outcome === 'failed' || outcome === 'refused'))

/** The start of the keys under which the typed cells of an import are kept. */
export const typedCellsOf = (importId: string) => `cells ${importId} `

/**
 * The cells of a row as input fields. Saving makes them edited cells of the import, which the next retry writes. Typed values stay in the tab until they
 * are saved, because the form closes when the person opens another row.
 */
export const EditRow = ({importId, source, row, cells: first}: EditRowProps) => {
  const [saved, setSaved] = useState(first)
  const [typed, setTyped] = useKept<Cell[]>(`${typedCellsOf(importId)}${source} ${row}`, [])
  const cells = saved.map(cell => typed.find(({column}) => column === cell.column) ?? cell)
  const type = (column: string) => (value: string) => {
    const isSaved = saved.some(cell => cell.column === column && cell.value === value)
    setTyped(now => [...now.filter(cell => cell.column !== column), ...(isSaved ? [] : [{column, value}])])
  }
  const changed = cells.filter(({value}, at) => value !== saved[at]!.value)
  const save = useDoing(async () => {
    await client.patch(inOrg(`/imports/${importId}/sources/${source}/cells`), {cells: changed.map(cell => ({row, ...cell}))})
    setSaved(cells)
    setTyped(now => now.filter(cell => !cells.includes(cell)))
    say(t.rowCorrectedRetryTheRunToWrite(row))
  })
  const submit = (event: Event) => {
    event.preventDefault()
    void save.run()
  }
  return html`
    <form class="edit-row" onSubmit=${submit}>
      ${cells.map(({column, value}) => html`<${TextField} key=${column} label=${column} value=${value} onInput=${type(column)} />`)}
      <div class="actions">
        <${Button} type="submit" isBusy=${save.isBusy} disabled=${changed.length === 0}>${changed.length === 0 ? t.saveRow : t.saveCells(changed.length)}<//>
      </div>
      <${Problem} error=${save.error} />
    </form>
  `
}
