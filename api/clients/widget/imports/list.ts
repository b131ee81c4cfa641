import {useState} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {ConnectionState} from '../connections/connection-state.ts'
import type {Connection} from '../connections/list.ts'
import {html} from '../html.ts'
import {type Run, sayState} from '../runs/run.ts'
import {addressOf, sayCounts} from '../runs/run-list.ts'
import {useLoad} from '../state/load.ts'
import {to} from '../state/place.ts'
import {client, inOrg, may, me} from '../state/session.ts'
import {Button} from '../ui/button.ts'
import {at} from '../ui/format.ts'
import {Problem} from '../ui/notice.ts'
import {Page} from '../ui/page.ts'
import {PagedTable, usePages} from '../ui/paged-table.ts'
import {Pill, type Tone} from '../ui/pill.ts'
import type {Column} from '../ui/table.ts'
import {DropAnywhere} from './drop-anywhere.ts'
import type {Imported} from './import.ts'
import {DeleteImport, RenameImport} from './rename.ts'

type ListedImport = Omit<Imported, 'sources' | 'slots'>
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

/** Lists all imports, newest first. */
export const Imports = () => {
  const imports = usePages<ListedImport>('/imports', 'imports', {limit: 25})
  const beside = useLoad<ListContext>(readBeside, [])
  const [asked, setAsked] = useState<{what: 'rename' | 'delete'; found: ListedImport} | null>(null)
  const columns = columnsFor(beside.data, (what, found) => setAsked({what, found}))
  return html`
    <${Page} title="Imports" lead="An import writes the rows of one or more files to your CRM." actions=${may('operator') && html`<a class="button" href=${to('imports', 'new')}>New import</a>`}>
      ${beside.data && html`<${ConnectionState} connections=${beside.data.connections} again=${beside.again} />`}
      ${may('operator') && html`<${DropAnywhere} connections=${beside.data?.connections} />`}
      <${PagedTable} of=${imports} caption="Imports, newest first" columns=${columns} empty=${html`<${Empty} />`} />
      <${Problem} error=${beside.error} title="Could not load connections and last runs" again=${beside.again} />
      ${asked?.what === 'rename' && html`<${RenameImport} found=${asked.found} onClose=${() => setAsked(null)} onDone=${imports.again} />`}
      ${asked?.what === 'delete' && html`<${DeleteImport} found=${asked.found} onClose=${() => setAsked(null)} onDone=${imports.again} />`}
    <//>
  `
}

const Empty = () => html`
  <p><strong>No imports yet</strong></p>
  <p>${may('operator') && 'Drop a file, or choose one. '}Then map its columns, preview the result with a dry run, and start the import. You get a result for every row.</p>
`

const states: Record<ListedImport['state'], {word: string; tone: Tone}> = {
  draft: {word: 'Draft', tone: 'neutral'},
  ready: {word: 'Ready', tone: 'info'},
  running: {word: 'Running', tone: 'info'},
  done: {word: 'Ended', tone: 'neutral'},
  expired: {word: 'Expired', tone: 'warning'},
}

/** Shows what became of the last run, where the import has one, instead of the state of the import. */
const State = ({state, run}: {state: ListedImport['state']; run: Run | undefined}) => {
  const {word, tone} = state === 'done' && run ? sayState(run) : states[state]
  return html`<${Pill} tone=${tone}>${word}<//>`
}

const columnsFor = (
  beside: ListContext | undefined,
  ask: (what: 'rename' | 'delete', found: ListedImport) => void,
): Column<ListedImport>[] => [
  {head: 'Name', isName: true, cell: ({id, name}) => html`<a href=${to('imports', id)}>${name}</a>`},
  {head: 'Connection', cell: ({connectorId}) => (beside ? (beside.connections.find(({id}) => id === connectorId)?.name ?? 'deleted') : '')},
  {head: 'State', cell: ({id, state}) => html`<${State} state=${state} run=${beside?.runs.get(id)} />`},
  {head: 'Last run', cell: ({id, state}) => html`<${LastRun} run=${beside?.runs.get(id)} hasRun=${state === 'done'} id=${id} />`},
  {head: 'Owner', cell: ({createdBy}) => (createdBy ? (beside?.owners.get(createdBy) ?? '–') : '–')},
  {head: 'Created', cell: ({createdAt}) => at(createdAt)},
  {
    head: '',
    label: 'Actions',
    cell: found =>
      may('operator') &&
      html`
      <span class="actions row-actions">
        <${Button} onClick=${() => ask('rename', found)} label=${`Rename ${found.name}`}>Rename<//>
        ${mayDelete(found) && html`<${Button} onClick=${() => ask('delete', found)} label=${`Delete ${found.name}`}>Delete<//>`}
      </span>
    `,
  },
]

/** Whether the person may delete the import: its creator and admins may, unless a run is active. */
const mayDelete = ({state, createdBy}: ListedImport) => state !== 'running' && (createdBy === me.value?.user.id || may('admin'))

const LastRun = ({run, hasRun, id}: {run: Run | undefined; hasRun: boolean; id: string}) => {
  const address = run && addressOf(run)
  if (run) return html`${address ? html`<a href=${address}>${sayCounts(run)}</a>` : sayCounts(run)}`
  return hasRun ? html`<a href=${to('imports', id, 'results')}>View results</a>` : '–'
}
