import type {Json} from '../../http.ts'
import {ConnectionState} from '../connections/connection-state.ts'
import type {Connection} from '../connections/list.ts'
import {html} from '../html.ts'
import {sayState} from '../runs/run.ts'
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

/** The connections of the org, and the names of its members by person id. */
type ListContext = {connections: Connection[]; owners: Map<string, string>}

const readBeside = async (signal: AbortSignal): Promise<ListContext> => {
  const [{connectors}, {members}] = await Promise.all([
    client.get<Json>(inOrg('/connectors'), {}, signal),
    client.get<Json>(inOrg('/members'), {}, signal),
  ])
  const owners = new Map<string, string>(members.map(({personId, name, email}: Json) => [personId, name || email]))
  return {connections: connectors, owners}
}

/** Lists the imports, newest first. The URL contains the search text, and whether archived imports are shown. */
export const Imports = () => {
  const {query} = place.value
  const [name, archived] = [query.get('name') ?? '', query.get('archived') === 'true']
  const imports = usePages<ListedImport>('/imports', 'imports', {
    limit: 25,
    lastRun: 'true',
    ...(name && {name}),
    ...(archived && {archived: 'true'}),
  })
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
      <${Problem} error=${beside.error} title=${t.couldNotLoadConnections} again=${beside.again} />
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

/** Shows the state of the last run if the import is running or done, else the state of the import. */
const State = ({state, lastRun: run}: ListedImport) => {
  const {word, tone} = (state === 'done' || state === 'running') && run ? sayState(run) : states[state]
  return html`<${Pill} tone=${tone}>${word}<//>`
}

const columnsFor = (beside: ListContext | undefined, again: () => void): Column<ListedImport>[] => [
  {head: t.name, isName: true, cell: ({id, name}) => html`<a href=${to('imports', id)}>${name}</a>`},
  ...(beside && beside.connections.length > 1
    ? [
        {
          head: t.connection,
          cell: ({connectorId}: ListedImport) => beside.connections.find(({id}) => id === connectorId)?.name ?? t.deletedConnection,
        },
      ]
    : []),
  {head: t.state, cell: found => html`<${State} ...${found} />`},
  {head: t.lastRun, cell: found => html`<${LastRun} ...${found} />`},
  {head: t.owner, cell: ({createdBy}) => (createdBy ? (beside?.owners.get(createdBy) ?? '–') : '–')},
  {head: t.createdHead, cell: ({createdAt}) => at(createdAt)},
  {
    head: '',
    label: t.actions,
    cell: found => may('operator') && html`<${ListMenu} key=${found.id} found=${found} run=${found.lastRun ?? undefined} again=${again} />`,
  },
]

const LastRun = ({id, state, lastRun: run}: ListedImport) => {
  const address = run && addressOf(run)
  if (run) return html`${address ? html`<a href=${address}>${sayCounts(run)}</a>` : sayCounts(run)}`
  return state === 'done' ? html`<a href=${to('imports', id, 'results')}>${t.viewResults}</a>` : '–'
}
