import type {Json} from '../../http.ts'
import {ConnectionState} from '../connections/connection-state.ts'
import type {Connection} from '../connections/list.ts'
import {html} from '../html.ts'
import {type Run, sayState} from '../runs/run.ts'
import {addressOf, sayCounts} from '../runs/run-list.ts'
import {useLoad} from '../state/load.ts'
import {place, setQuery, to} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
import {t} from '../text/files.ts'
import {Select} from '../ui/field.ts'
import {at} from '../ui/format.ts'
import {Problem} from '../ui/notice.ts'
import {Page} from '../ui/page.ts'
import {PagedTable, usePages} from '../ui/paged-table.ts'
import {Pill, type Tone} from '../ui/pill.ts'
import type {Column} from '../ui/table.ts'
import {TypedField} from '../ui/typed-field.ts'
import {DropAnywhere} from './drop-anywhere.ts'
import {type ListedImport, ListMenu} from './list-menu.ts'

/** Data that the list shows beside the imports. `runs` holds the newest runs of the org by import; older runs are not shown. */
type ListContext = {connections: Connection[]; runs: Map<string, Run>; owners: Map<string, string>}

const readBeside = async (signal: AbortSignal): Promise<ListContext> => {
  const [{connectors}, {runs}, {members}] = await Promise.all([
    client.get<Json>(inOrg('/connectors'), {}, signal),
    client.get<Json>(inOrg('/runs'), {limit: 100, dryRun: 'false'}, signal),
    client.get<Json>(inOrg('/members'), {}, signal),
  ])
  const newest = new Map<string, Run>()
  for (const run of runs as Run[]) if (run.importId && !newest.has(run.importId)) newest.set(run.importId, run)
  const owners = new Map<string, string>(members.map(({personId, name, email}: Json) => [personId, name || email]))
  return {connections: connectors, runs: newest, owners}
}

/** Lists the imports, newest first. The URL keeps the search, and whether archived imports are shown. */
export const Imports = () => {
  const {query} = place.value
  const [name, archived] = [query.get('name') ?? '', query.get('archived') === 'true']
  const imports = usePages<ListedImport>('/imports', 'imports', {limit: 25, ...(name && {name}), ...(archived && {archived: 'true'})})
  const beside = useLoad<ListContext>(readBeside, [])
  const isFiltered = name !== '' || archived
  return html`
    <${Page} title=${t.imports} lead=${t.anImportWritesTheRowsOfOne} actions=${may('operator') && html`<a class="button" href=${to('imports', 'new')}>${t.newImport}</a>`}>
      ${beside.data && html`<${ConnectionState} connections=${beside.data.connections} again=${beside.again} />`}
      ${may('operator') && html`<${DropAnywhere} connections=${beside.data?.connections} />`}
      ${
        (isFiltered || (imports.first.data?.rows.length ?? 0) > 0) &&
        html`
        <div class="run-filters" role="search" aria-label=${t.findImports}>
          <${TypedField} label=${t.searchByName} value=${name} onTyped=${(text: string) => setQuery({name: text})} />
          <${Select} label=${t.show} value=${archived ? 'archived' : 'listed'} options=${[{value: 'listed', label: t.notArchived}, {value: 'archived', label: t.archivedOnes}]} onChange=${(value: string) => setQuery({archived: value === 'archived' ? 'true' : undefined})} />
        </div>
      `
      }
      <${PagedTable} of=${imports} caption=${t.importsNewestFirst} columns=${columnsFor(beside.data, imports.again)} empty=${isFiltered ? html`<p>${name ? (archived ? t.noArchivedImportHas : t.noImportHas)(name) : t.noArchivedImports}</p>` : html`<${Empty} />`} />
      <${Problem} error=${beside.error} title=${t.couldNotLoadConnectionsAndLastRuns} again=${beside.again} />
    <//>
  `
}

const Empty = () => html`
  <p><strong>${t.noImportsYet}</strong></p>
  <p>${may('operator') && `${t.dropAFileOrChooseOne} `}${t.thenMapItsColumnsPreviewTheResult}</p>
`

const states: Record<ListedImport['state'], {word: string; tone: Tone}> = {
  draft: {word: t.draft, tone: 'neutral'},
  ready: {word: t.ready, tone: 'info'},
  running: {word: t.running, tone: 'info'},
  done: {word: t.ended, tone: 'neutral'},
  expired: {word: t.expired, tone: 'warning'},
}

/** Shows what became of the last run, where the import has one, instead of the state of the import. */
const State = ({state, run}: {state: ListedImport['state']; run: Run | undefined}) => {
  const {word, tone} = state === 'done' && run ? sayState(run) : states[state]
  return html`<${Pill} tone=${tone}>${word}<//>`
}

const columnsFor = (beside: ListContext | undefined, again: () => void): Column<ListedImport>[] => [
  {head: t.name, isName: true, cell: ({id, name}) => html`<a href=${to('imports', id)}>${name}</a>`},
  {
    head: t.connection,
    cell: ({connectorId}) => (beside ? (beside.connections.find(({id}) => id === connectorId)?.name ?? t.deletedConnection) : ''),
  },
  {head: t.state, cell: ({id, state}) => html`<${State} state=${state} run=${beside?.runs.get(id)} />`},
  {head: t.lastRun, cell: ({id, state}) => html`<${LastRun} run=${beside?.runs.get(id)} hasRun=${state === 'done'} id=${id} />`},
  {head: t.owner, cell: ({createdBy}) => (createdBy ? (beside?.owners.get(createdBy) ?? '–') : '–')},
  {head: t.createdHead, cell: ({createdAt}) => at(createdAt)},
  {
    head: '',
    label: t.actions,
    cell: found => may('operator') && html`<${ListMenu} key=${found.id} found=${found} run=${beside?.runs.get(found.id)} again=${again} />`,
  },
]

const LastRun = ({run, hasRun, id}: {run: Run | undefined; hasRun: boolean; id: string}) => {
  const address = run && addressOf(run)
  if (run) return html`${address ? html`<a href=${address}>${sayCounts(run)}</a>` : sayCounts(run)}`
  return hasRun ? html`<a href=${to('imports', id, 'results')}>${t.viewResults}</a>` : '–'
}
