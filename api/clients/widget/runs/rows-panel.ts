import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {useLoad} from '../state/load.ts'
import {go, place, setQuery, to} from '../state/place.ts'
import {client, inOrg} from '../state/session.ts'
import {t} from '../text/runs.ts'
import {Button} from '../ui/button.ts'
import {Select} from '../ui/field.ts'
import {count} from '../ui/format.ts'
import {Shown} from '../ui/page.ts'
import {TypedField} from '../ui/typed-field.ts'
import type {RunRow} from './row.ts'
import {rowsPerPage} from './rows-per-page.ts'
import {choicesIn, type Filter, filterIn, filterKeys, type Option, sourceWith} from './rows-query.ts'
import {type Cells, RowsTable} from './rows-table.ts'
import type {Run} from './run.ts'
import type {Source, Tally} from './use-tally.ts'

type RowsPage = {sources: Source[]; source: string; rows: RunRow[]; reached: number; nextCursor: string | null}
type PanelProps = {importId: string; run: Run; tally: Tally}

const usualRows = 50

/** The URL contains the filters and the page. */
export const RowsPanel = ({importId, run, tally}: PanelProps) => {
  const [perPage] = useState(() => rowsPerPage(usualRows))
  const {query} = place.value
  const filter = filterIn(query)
  const cursor = query.get('cursor') ?? undefined
  const source = filter.source ?? sourceWith(tally.groups, filter)
  // With several files, the first one with matching rows is known only after counting.
  const isReady = source !== undefined || Object.keys(filter).length === 0 || tally.isWhole || tally.error !== null
  const asked = JSON.stringify([run.id, filter, isReady && source, cursor])
  const page = useLoad<RowsPage | undefined>(
    async signal =>
      isReady
        ? client.get(inOrg(`/imports/${importId}/runs/${run.id}/rows`), {...filter, source, cursor, limit: perPage}, signal)
        : undefined,
    [asked, tally.recounts],
  )
  const numbers = page.data?.rows.map(({rowNumber}) => rowNumber).join(',') ?? ''
  const from = page.data?.source
  const cells = useLoad<{from: string | undefined; cells: Cells} | null>(
    async signal =>
      numbers && !run.expiredAt
        ? {from, cells: await client.get(inOrg(`/imports/${importId}/runs/${run.id}/rows/cells`), {source: from, rows: numbers}, signal)}
        : null,
    [run.id, from, numbers],
  )
  // Cells of another file stay loaded until the new ones arrive. They have the same row numbers.
  const shownCells = cells.data?.from === from ? (cells.data?.cells ?? null) : null
  return html`
    <section aria-labelledby="rows">
      <h2 id="rows">${run.dryRun ? t.rowByRow : t.rows}</h2>
      <${Filters} filter=${{...filter, ...(source && {source})}} run=${run} tally=${tally} />
      <${Shown} of=${page}>
        ${(data: RowsPage) => html`
          <${RowsTable} key=${asked} importId=${importId} run=${run} rows=${data.rows} cells=${shownCells} source=${data.sources.find(({id}) => id === data.source)!} isNew=${page.isLoading} empty=${sayEmpty(filter, data)} />
          <${Pager} perPage=${perPage} data=${data} isFirst=${cursor === undefined} isLoading=${page.isLoading} />
        `}
      <//>
    </section>
  `
}

const sayEmpty = (filter: Filter, {reached, nextCursor}: RowsPage) => {
  if (nextCursor !== null) return t.noMatchesUpToRowSearchFurther(count(reached))
  return Object.keys(filter).some(key => key !== 'source') ? t.noRowsMatchTheseFilters : t.noRowsOfThisFileAFilter
}

const Pager = ({perPage, data, isFirst, isLoading}: {perPage: number; data: RowsPage; isFirst: boolean; isLoading: boolean}) => {
  const {path, query} = place.value
  const turn = (cursor: string | undefined) => {
    go(to(...path, {...Object.fromEntries(query), cursor}))
    document.getElementById('rows')?.scrollIntoView()
  }
  const [first, last] = [data.rows[0]?.rowNumber, data.rows.at(-1)?.rowNumber]
  return html`
    <div class="run-pager">
      <p class="quiet" role="status">${first === undefined ? '' : t.rowsToRowsShown(count(first), count(last), data.rows.length)}</p>
      ${!isFirst && html`<${Button} onClick=${() => turn(undefined)}>${t.firstPage}<//>`}
      ${data.nextCursor !== null && html`<${Button} isBusy=${isLoading} onClick=${() => turn(data.nextCursor!)}>${data.rows.length < perPage ? t.searchFurther : t.nextPage}<//>`}
    </div>
  `
}

const Filters = ({filter, run, tally}: {filter: Filter; run: Run; tally: Tally}) => {
  const ofFile = tally.groups.filter(({source}) => filter.source === undefined || source === filter.source)
  const choices = choicesIn(ofFile, filter, run)
  const set = (changes: Filter) => setQuery({...changes, cursor: undefined})
  // The numbers beside the outcomes count only writes, so tags and patches with the same outcome are left out.
  const choose = (key: keyof Filter, value: string) => set({[key]: value, phase: {...filter, [key]: value}.outcome ? 'write' : ''})
  const select = (key: keyof Filter, label: string, options: Option[]) =>
    options.length > 2 || filter[key]
      ? html`<${Select} label=${label} value=${filter[key] ?? ''} options=${options} onChange=${(value: string) => choose(key, value)} />`
      : null
  const files = tally.sources.map(({id, label}) => ({value: id, label}))
  const used = filterKeys.filter(key => key !== 'source' && filter[key] !== undefined)
  return html`
    <div class="run-filters" role="search" aria-label=${t.filterRows}>
      ${files.length > 1 && html`<${Select} label=${t.file} value=${filter.source ?? files[0]!.value} options=${files} onChange=${(source: string) => set({source, from: ''})} />`}
      ${run.dryRun ? select('action', t.action, choices.action) : select('outcome', t.outcome, choices.outcome)}
      ${select('module', t.module, choices.module)}
      ${select('code', t.reason, choices.code)}
      <${TypedField} label=${t.text} value=${filter.text ?? ''} placeholder=${run.dryRun ? t.oldNewOrReason : t.reasonOrRecord} onTyped=${(text: string) => set({text})} />
      <${TypedField} label=${t.fromRow} value=${filter.from ?? ''} inputmode="numeric" isNumber onTyped=${(from: string) => set({from})} />
      ${used.length > 0 && html`<${Button} kind="quiet" onClick=${() => set(Object.fromEntries(used.map(key => [key, ''])))}>${t.clearFilters}<//>`}
    </div>
  `
}
