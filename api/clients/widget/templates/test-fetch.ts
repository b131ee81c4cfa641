import {useEffect} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import {untilDone} from '../state/jobs.ts'
import {useDoing, useLoad, useRemoved} from '../state/load.ts'
import {place, setQuery} from '../state/place.ts'
import {client, may} from '../state/session.ts'
import {t} from '../text/schedules.ts'
import {Button} from '../ui/button.ts'
import {at, bytes, count} from '../ui/format.ts'
import {CodeDetails, Notice, Problem} from '../ui/notice.ts'
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

/** Runs a test fetch of the schedule, and shows the fetched file. `?test=1` starts the test when the page opens. */
export const TestFetch = ({address}: {address: string}) => {
  const loaded = useLoad<FetchTest | null>(async signal => (await client.get<Json>(`${address}/test`, {}, signal)).test, [address])
  const removed = useRemoved()
  const fetching = useDoing(async () => {
    const {job} = await client.post<Json>(`${address}/test`)
    await untilDone(job.id, {signal: removed})
    loaded.again()
  })
  useEffect(() => {
    if (place.value.query.get('test') !== '1') return
    setQuery({test: undefined})
    fetching.run()
  }, [address])
  return html`
    <h2>${t.test}</h2>
    <p class="quiet">${t.fetchesTheFileWithTheSavedSettings}</p>
    ${may('builder') && html`<div class="actions"><${Button} isBusy=${fetching.isBusy} onClick=${() => fetching.run()}>${t.fetchATestFileNow}<//></div>`}
    <${Problem} error=${fetching.error} again=${() => fetching.run()} />
    <div class="gap-above" aria-live="polite">
      <${Shown} of=${loaded}>${(test: FetchTest | null) => test && !fetching.isBusy && html`<${Result} test=${test} />`}<//>
    </div>
  `
}

const Result = ({test: {fetchedAt, file, problem}}: {test: FetchTest}) => {
  if (problem)
    return html`
      <${Notice} kind="bad" title=${t.theFileCouldNotBeFetched}>
        <p>${problem.message}.</p>
        <p>${adviceOf(problem.code)} <span class="quiet">${at(fetchedAt)}</span></p>
        <${CodeDetails} code=${problem.code} />
      <//>
    `
  const {name, rows, columnCount, columns, sample, drift} = file!
  return html`
    <p><strong>${name}</strong> · ${bytes(file!.bytes)} · ${t.rowCount(rows)} · ${t.columnCount(columnCount)} <span class="quiet">· ${at(fetchedAt)}</span></p>
    ${drift.length === 0 ? html`<p>${t.theColumnsAreThoseOfTheTemplate}</p>` : html`<${Differences} drift=${drift} />`}
    <${Table}
      isWide
      caption=${t.firstRowsOfTheFile}
      rows=${sample.map((cells, index) => ({cells, index}))}
      keyOf=${({index}: {index: number}) => String(index)}
      columns=${columns.map((head, column) => ({head, cell: ({cells}: {cells: string[]}) => cells[column] ?? ''}))}
    />
    ${columnCount > columns.length && html`<p class="hint">${t.theFirstColumnsAreShown(count(columns.length))}</p>`}
  `
}

const Differences = ({drift}: {drift: FetchedFile['drift']}) => {
  const stops = drift.some(one => one.stops)
  return html`
    <${Notice} kind=${stops ? 'bad' : 'warning'} title=${stops ? t.thisFileDoesNotFitTheTemplate : t.theFileDiffersFromTheTemplate}>
      <ul>${drift.map(one => html`<li>${one.message}${!one.stops && ` ${t.doesNotStopImports}`}</li>`)}</ul>
    <//>
  `
}
