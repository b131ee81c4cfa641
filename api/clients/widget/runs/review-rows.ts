import {useRef, useState} from 'preact/hooks'
import {html} from '../html.ts'
import type {Source} from '../imports/import.ts'
import type {LoadedImport} from '../imports/known.ts'
import {useLoad} from '../state/load.ts'
import {client, inOrg, may} from '../state/session.ts'
import {t} from '../text/decide.ts'
import {Button} from '../ui/button.ts'
import {count} from '../ui/format.ts'
import {Problem, say} from '../ui/notice.ts'
import {Shown} from '../ui/page.ts'
import {keyColumns} from './key-columns.ts'
import {type EditCell, ReviewRow} from './review-row.ts'
import {REVIEW_TABS, type ReviewTab} from './review-tabs.ts'
import type {RunRow} from './row.ts'
import {rowsPerPage} from './rows-per-page.ts'
import type {Filter} from './rows-query.ts'
import type {Run} from './run.ts'

type Props = {known: LoadedImport; run: Run; tab: ReviewTab; filter: Filter; sourceId: string}
type RowsPage = {rows: RunRow[]; reached: number; nextCursor: string | null; cells: ReadonlyMap<number, string[]>; columns: string[]}

const usualRows = 25

/** The rows of one file that match the filter. Use a `key` of all properties but `known`, because a page belongs to one filter. */
export const ReviewRows = ({known: {import: found, again}, run, tab, filter, sourceId}: Props) => {
  const [cursors, setCursors] = useState<string[]>([])
  const [perPage] = useState(() => rowsPerPage(usualRows))
  const source = found.sources.find(({id}) => id === sourceId)
  const flows = found.flows.filter(flow => flow.sourceId === sourceId)
  const path = inOrg(`/imports/${found.id}`)
  const cleaning = JSON.stringify(source?.cleaning)
  const page = useLoad<RowsPage>(
    async signal => {
      const query = {...filter, source: sourceId, cursor: cursors.at(-1), limit: perPage}
      const {rows, reached, nextCursor} = await client.get<Omit<RowsPage, 'cells'>>(`${path}/runs/${run.id}/rows`, query, signal)
      if (rows.length === 0 || !source) return {rows, reached, nextCursor, cells: new Map(), columns: []}
      const read = await client.get(`${path}/sources/${sourceId}/rows`, {numbers: rows.map(({rowNumber}) => rowNumber).join(',')}, signal)
      const cells = new Map<number, string[]>(
        (read.rows as {rowNumber: number; values: string[]}[]).map(row => [row.rowNumber, row.values]),
      )
      return {rows, reached, nextCursor, cells, columns: read.columns}
    },
    [cursors.at(-1), cleaning],
  )
  const edit = useEdits(async (row, column, value) => {
    await client.patch(`${path}/sources/${sourceId}/cells`, {cells: [{row, column, value}]})
    say(value === null ? t.restoredOfRow(column, count(row)) : t.changedOfRow(column, count(row)))
    await again()
  })
  const edited = source ? editsOf(source) : new Map<string, string>()
  const keys = source ? keyColumns(flows, source) : []
  const mayEdit = source !== undefined && !run.undoOf && may('operator') && found.state !== 'running'
  return html`
    <${Problem} error=${edit.error} title=${t.couldNotChangeTheCell} />
    ${edited.size > 0 && html`<p class="hint">${t.editedCellsTheFileItselfIsNot(edited.size)}</p>`}
    <${Shown} of=${page}>
      ${(data: RowsPage) =>
        data.rows.length === 0
          ? html`<p class="empty">${data.nextCursor === null ? t.noRowsHere : t.noMatchesUpToRowSearchFurther(count(data.reached))}</p>`
          : html`
          <div class="table-frame review-rows" aria-busy=${page.isLoading || edit.isBusy ? 'true' : undefined}>
            <table class="cards">
              <caption class="unseen">${t.rowsOfTab(REVIEW_TABS[tab].label)}</caption>
              <thead><tr><th scope="col">${t.rowHead}</th>${keys.map(key => html`<th scope="col">${key}</th>`)}<th scope="col">${t.result}</th><th scope="col">${t.whatHappens}</th></tr></thead>
              <tbody>${data.rows.map(
                row =>
                  html`<${ReviewRow} key=${row.rowNumber} row=${row} cells=${data.cells.get(row.rowNumber) ?? null} columns=${data.columns} keys=${keys} flows=${flows} edited=${edited} edit=${mayEdit ? edit.run : null} />`,
              )}</tbody>
            </table>
          </div>
        `}
    <//>
    <div class="run-pager">
      ${cursors.length > 0 && html`<${Button} onClick=${() => setCursors(cursors.slice(0, -1))}>${t.previousPage}<//>`}
      ${page.data?.nextCursor && html`<${Button} isBusy=${page.isLoading} onClick=${() => setCursors([...cursors, page.data!.nextCursor!])}>${t.nextPage}<//>`}
    </div>
  `
}

/** Saves edits one after another. Edits that are made meanwhile wait. */
const useEdits = (save: (...edit: Parameters<EditCell>) => Promise<void>) => {
  const [state, setState] = useState<{waiting: number; error: unknown}>({waiting: 0, error: null})
  const last = useRef<Promise<unknown>>(Promise.resolve())
  const run: EditCell = (...edit) => {
    setState(({waiting}) => ({waiting: waiting + 1, error: null}))
    const saved = last.current.then(() => save(...edit))
    const settled = saved.then(
      () => setState(({waiting, error}) => ({waiting: waiting - 1, error})),
      error => setState(({waiting}) => ({waiting: waiting - 1, error})),
    )
    last.current = settled
    return saved.then(
      () => true,
      () => false,
    )
  }
  return {run, isBusy: state.waiting > 0, error: state.error}
}

/** Returns the edited cells of a source. The keys are `<row number> <column>`. */
const editsOf = ({cleaning}: Source): Map<string, string> =>
  new Map(
    cleaning
      .filter(({step}) => step === 'editCells')
      .flatMap(({cells}) => cells as {row: number; column: string; value: string}[])
      .map(({row, column, value}) => [`${row} ${column}`, value]),
  )
