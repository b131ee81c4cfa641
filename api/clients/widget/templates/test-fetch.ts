import {useEffect} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import {untilDone} from '../state/jobs.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {place, setQuery} from '../state/place.ts'
import {client, may} from '../state/session.ts'
import {Button} from '../ui/button.ts'
import {at, bytes, count, plural} from '../ui/format.ts'
import {Notice, Problem} from '../ui/notice.ts'
import {Shown} from '../ui/page.ts'
import {Table} from '../ui/table.ts'
import {adviceOf} from './source-advice.ts'

type FetchedFile = {
  name: string
  bytes: number
  rows: number
  columnCount: number
  columns: string[]
  sample: string[][]
  drift: {stops: boolean; message: string}[]
}
type FetchTest = {fetchedAt: string; file: FetchedFile | null; problem: {code: string; message: string} | null}

/** Fetches the file of the schedule as a test, and shows what it is. `?test=1` starts it with the page. */
export const TestFetch = ({address}: {address: string}) => {
  const loaded = useLoad<FetchTest | null>(async signal => (await client.get<Json>(`${address}/test`, {}, signal)).test, [address])
  const fetching = useDoing(async () => {
    const {job} = await client.post<Json>(`${address}/test`)
    await untilDone(job.id)
    loaded.again()
  })
  useEffect(() => {
    if (place.value.query.get('test') !== '1') return
    setQuery({test: undefined})
    fetching.run()
  }, [address])
  return html`
    <h2>Test</h2>
    <p class="quiet">Fetches the file with the saved settings and shows its first rows. Nothing is imported.</p>
    ${may('builder') && html`<div class="actions"><${Button} isBusy=${fetching.isBusy} onClick=${() => fetching.run()}>Fetch a test file now<//></div>`}
    <${Problem} error=${fetching.error} again=${() => fetching.run()} />
    <div class="gap-above" aria-live="polite">
      <${Shown} of=${loaded}>${(test: FetchTest | null) => test && !fetching.isBusy && html`<${Result} test=${test} />`}<//>
    </div>
  `
}

const Result = ({test: {fetchedAt, file, problem}}: {test: FetchTest}) => {
  if (problem)
    return html`
      <${Notice} kind="bad" title="The file could not be fetched">
        <p>${problem.message}. <code class="code">${problem.code}</code></p>
        <p>${adviceOf(problem.code)} <span class="quiet">${at(fetchedAt)}</span></p>
      <//>
    `
  const {name, rows, columnCount, columns, sample, drift} = file!
  return html`
    <p><strong>${name}</strong> · ${bytes(file!.bytes)} · ${plural(rows, 'row')} · ${plural(columnCount, 'column')} <span class="quiet">· ${at(fetchedAt)}</span></p>
    ${drift.length === 0 ? html`<p>The columns are those of the template.</p>` : html`<${Differences} drift=${drift} />`}
    <${Table}
      isWide
      caption="First rows of the file"
      rows=${sample.map((cells, index) => ({cells, index}))}
      keyOf=${({index}: {index: number}) => String(index)}
      columns=${columns.map((head, column) => ({head, cell: ({cells}: {cells: string[]}) => cells[column] ?? ''}))}
    />
    ${columnCount > columns.length && html`<p class="hint">The first ${count(columns.length)} columns are shown.</p>`}
  `
}

const Differences = ({drift}: {drift: FetchedFile['drift']}) => {
  const stops = drift.some(one => one.stops)
  return html`
    <${Notice} kind=${stops ? 'bad' : 'warning'} title=${stops ? 'This file does not fit the template' : 'The file differs from the template'}>
      <ul>${drift.map(one => html`<li>${one.message}${!one.stops && ' (does not stop imports)'}</li>`)}</ul>
    <//>
  `
}
