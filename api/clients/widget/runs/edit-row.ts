import {useState} from 'preact/hooks'
import {html} from '../html.ts'
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
 * failed or was refused. A row that only lacks tags is written, so a retry does not write its cells.
 */
export const canFix = ({run, row: {entries}}: {run: Run; row: RunRow}): boolean =>
  isOver(run) &&
  isRetriable(run) &&
  !run.retriedBy &&
  may('operator') &&
  entries.some(({phase, outcome}) => phase !== 'tag' && (outcome === 'failed' || outcome === 'refused'))

/** The cells of a row as input fields. Saving makes them edited cells of the import, which the next retry writes. */
export const EditRow = ({importId, source, row, cells: first}: EditRowProps) => {
  const [saved, setSaved] = useState(first)
  const [cells, setCells] = useState(first)
  const changed = cells.filter(({value}, at) => value !== saved[at]!.value)
  const save = useDoing(async () => {
    await client.patch(inOrg(`/imports/${importId}/sources/${source}/cells`), {cells: changed.map(cell => ({row, ...cell}))})
    setSaved(cells)
    say(t.rowCorrectedRetryTheRunToWrite(row))
  })
  const submit = (event: Event) => {
    event.preventDefault()
    void save.run()
  }
  return html`
    <form class="edit-row" onSubmit=${submit}>
      ${cells.map(({column, value}, at) => html`<${TextField} key=${column} label=${column} value=${value} onInput=${(text: string) => setCells(cells.with(at, {column, value: text}))} />`)}
      <div class="actions">
        <${Button} type="submit" isBusy=${save.isBusy} disabled=${changed.length === 0}>${changed.length === 0 ? t.saveRow : t.saveCells(changed.length)}<//>
      </div>
      <${Problem} error=${save.error} />
    </form>
  `
}
