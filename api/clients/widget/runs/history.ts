import {html} from '../html.ts'
import {useLoad} from '../state/load.ts'
import {go, place, setQuery, to} from '../state/place.ts'
import {client, inOrg} from '../state/session.ts'
import {t} from '../text/runs.ts'
import {Button} from '../ui/button.ts'
import {Select} from '../ui/field.ts'
import {Page, Shown} from '../ui/page.ts'
import {type Column, Table} from '../ui/table.ts'
import type {Run} from './run.ts'
import {RunName, runColumns} from './run-list.ts'

type RunPage = {runs: Run[]; nextCursor: string | null}

const states: Record<string, {label: string; query: Record<string, string>}> = {
  '': {label: t.any, query: {}},
  underway: {label: t.active, query: {state: 'queued,writing,paused,closing'}},
  paused: {label: t.paused, query: {state: 'paused'}},
  done: {label: t.ended, query: {state: 'ended', stopped: 'false'}},
  stopped: {label: t.stoppedOrCancelled, query: {state: 'ended', stopped: 'true'}},
}
const kinds: Record<string, {label: string; query: Record<string, string>}> = {
  '': {label: t.runsAndDryRuns, query: {}},
  runs: {label: t.runs, query: {dryRun: 'false'}},
  dry: {label: t.dryRuns, query: {dryRun: 'true'}},
}

const optionsOf = (choices: Record<string, {label: string}>) => Object.entries(choices).map(([value, {label}]) => ({value, label}))

export const History = () => {
  const {query} = place.value
  const [state, kind] = [query.get('state') ?? '', query.get('kind') ?? '']
  const [ofImport, cursor] = [query.get('import') ?? undefined, query.get('cursor') ?? undefined]
  const asked = {...states[state]?.query, ...kinds[kind]?.query, import: ofImport, cursor}
  const page = useLoad<RunPage>(signal => client.get(inOrg('/runs'), asked, signal), [JSON.stringify(asked)])
  const set = (changes: Record<string, string>) => setQuery({...changes, cursor: undefined})
  const isFiltered = state !== '' || kind !== '' || ofImport !== undefined
  return html`
    <${Page} title=${t.runs} lead=${t.runsAndDryRunsOfAllImports} actions=${html`<${Button} isBusy=${page.isLoading && page.data !== undefined} onClick=${page.again}>${t.refresh}<//>`}>
      <div class="run-filters" role="search" aria-label=${t.filterRuns}>
        <${Select} label=${t.state} value=${state} options=${optionsOf(states)} onChange=${(value: string) => set({state: value})} />
        <${Select} label=${t.kind} value=${kind} options=${optionsOf(kinds)} onChange=${(value: string) => set({kind: value})} />
        <${ImportChoice} value=${ofImport} onChange=${(value: string) => set({import: value})} />
        ${isFiltered && html`<${Button} kind="quiet" onClick=${() => set({state: '', kind: '', import: ''})}>${t.clearFilters}<//>`}
      </div>
      <${Shown} of=${page}>${(data: RunPage) => html`<${RunsTable} data=${data} isFiltered=${isFiltered} isFirst=${cursor === undefined} />`}<//>
    <//>
  `
}

const mostImports = 100

/** A select of the newest 100 imports, and of the selected import if it is older. */
const ImportChoice = ({value, onChange}: {value: string | undefined; onChange: (value: string) => void}) => {
  const {data = []} = useLoad<{id: string; name: string}[]>(
    async signal => (await client.get(inOrg('/imports'), {limit: mostImports}, signal)).imports,
    [],
  )
  const known = data.map(({id, name}) => ({value: id, label: name}))
  const other = value && !known.some(one => one.value === value) ? [{value, label: t.selectedImport}] : []
  return html`<${Select} label=${t.importHead} value=${value ?? ''} options=${[{value: '', label: t.any}, ...other, ...known]} onChange=${onChange} />`
}

const columns: Column<Run>[] = runColumns([
  {
    head: t.importHead,
    isName: true,
    cell: run =>
      run.importId
        ? html`<a href=${to('imports', run.importId, 'runs')}>${run.importName}</a>`
        : html`<span class="quiet">${t.noImport}</span>`,
  },
  {head: t.kind, cell: run => html`<${RunName} run=${run} />`},
])

const RunsTable = ({data, isFiltered, isFirst}: {data: RunPage; isFiltered: boolean; isFirst: boolean}) => {
  const {path, query} = place.value
  const turn = (cursor: string | undefined) => go(to(...path, {...Object.fromEntries(query), cursor}))
  const empty = isFiltered
    ? html`<p>${t.noRunsMatchTheseFilters}</p>`
    : html`<p>${t.noRunsYet}</p><a class="button" href=${to('imports')}>${t.goToImports}</a>`
  return html`
    <${Table} caption=${t.runsNewestFirst} columns=${columns} rows=${data.runs} keyOf=${({id}: Run) => id} empty=${empty} />
    <div class="run-pager">
      ${!isFirst && html`<${Button} onClick=${() => turn(undefined)}>${t.newest}<//>`}
      ${data.nextCursor !== null && html`<${Button} onClick=${() => turn(data.nextCursor!)}>${t.older}<//>`}
    </div>
  `
}
