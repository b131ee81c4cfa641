import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {useLoad} from '../state/load.ts'
import {client, inOrg} from '../state/session.ts'
import {t} from '../text/reading.ts'
import {Button} from '../ui/button.ts'
import {count} from '../ui/format.ts'
import {Shown} from '../ui/page.ts'
import {Pill} from '../ui/pill.ts'
import {type Column, Table} from '../ui/table.ts'
import {HeaderChoice} from './header-choice.ts'
import type {Source} from './import.ts'

type Row = {rowNumber: number; values: string[]; raw: string[]; ragged: boolean; openQuote?: true; struck: string | null}
type Rows = {columns: string[]; rows: Row[]; nextFrom: number | null}
const pageRows = 5
/** The number of columns that are shown at first. A button shows as many more, because a file may have thousands. */
const shownColumns = 30

/** `again`: reloads the import after a change. Null if the header row may not be changed. */
type PreviewProps = {importId: string; source: Source; again: (() => Promise<void>) | null}

/** Shows the rows after reading and cleaning, page by page. The original value is shown below a cell that cleaning changed. */
export const RowsPreview = ({importId, source, again}: PreviewProps) => {
  const [isChoosing, setChoosing] = useState(false)
  const [asked, setFrom] = useState(1)
  // The file may have fewer rows after its reading options changed.
  const from = asked > source.rows ? 1 : asked
  const read = JSON.stringify([source.reader, source.cleaning])
  const path = inOrg(`/imports/${importId}/sources/${source.id}/rows`)
  const loaded = useLoad<Rows>(signal => client.get(path, {from, limit: pageRows}, signal), [path, from, read])
  if (isChoosing && again)
    return html`<div class="rows-preview"><${HeaderChoice} importId=${importId} source=${source} again=${again} onClose=${() => setChoosing(false)} /></div>`
  return html`
    <div class="rows-preview">
      <${Shown} of=${loaded}>${(page: Rows) => html`<${OnePage} page=${page} label=${source.label} />`}<//>
      <div class="row">
        <span class="quiet grow">${source.rows > 0 && t.rowsToOf(count(from), count(Math.min(from + pageRows - 1, source.rows)), count(source.rows))}</span>
        ${again && html`<${Button} onClick=${() => setChoosing(true)}>${t.changeHeaderRow}<//>`}
        <${Button} disabled=${from === 1} onClick=${() => setFrom(Math.max(1, from - pageRows))} label=${t.previousRows}>${t.previous}<//>
        <${Button} disabled=${!loaded.data?.nextFrom} onClick=${() => setFrom(loaded.data!.nextFrom!)} label=${t.nextRows}>${t.next}<//>
      </div>
    </div>
  `
}

const OnePage = ({page, label}: {page: Rows; label: string}) => {
  const [most, setMost] = useState(shownColumns)
  const columns: Column<Row>[] = [
    {
      head: t.row,
      isName: true,
      cell: ({rowNumber, ragged, openQuote, struck}) =>
        html`${count(rowNumber)} ${struck !== null && html`<${Pill} tone="warning">${sayExclusion(struck)}<//>`} ${ragged && html`<${Pill} tone="bad">${openQuote ? t.openQuote : t.ragged}<//>`}`,
    },
    ...page.columns
      .slice(0, most)
      .map((name, at) => ({head: name, cell: (row: Row) => html`<${Cell} value=${row.values[at] ?? ''} raw=${row.raw[at]} />`})),
  ]
  return html`
    <${Table} isWide=${true} caption=${t.rowsOf(label)} columns=${columns} rows=${page.rows} keyOf=${(row: Row) => String(row.rowNumber)} empty=${t.noRows} />
    ${page.columns.length > most && html`<p class="row"><span class="quiet">${t.moreColumnCount(page.columns.length - most)}</span> <${Button} onClick=${() => setMost(most + shownColumns)}>${t.showMoreColumns}<//></p>`}
  `
}

/** Returns why cleaning excluded a row. A reason without a text here keeps the API's text. */
const sayExclusion = (reason: string) => {
  const before = /^The row repeats row (\d+)$/.exec(reason)?.[1]
  return before ? t.repeatsRow(before) : (t.exclusions[reason] ?? reason)
}

/** A cell of the preview. `raw` is undefined for columns that cleaning added. */
const Cell = ({value, raw}: {value: string; raw: string | undefined}) => html`
  <span title=${value.length > 60 ? value : undefined}>${value === '' ? html`<span class="quiet">${t.empty}</span>` : cut(value)}</span>
  ${raw !== undefined && raw !== value && html`<br /><span class="was"><span class="unseen">${t.inTheFile} </span>${raw === '' ? t.empty : cut(raw)}</span>`}
`

const cut = (text: string) => (text.length > 200 ? `${text.slice(0, 200)} …` : text)
