import {useState} from 'preact/hooks'
import type {Json} from '../../http.ts'
import type {Connection} from '../connections/list.ts'
import {html} from '../html.ts'
import type {Run} from '../runs/run.ts'
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
import type {Imported} from './import.ts'
import {DeleteImport, RenameImport} from './rename.ts'

type Listed = Omit<Imported, 'sources' | 'slots'>
/** `runs`: the newest of the org, by import. What is older is not told in the list. */
type Beside = {connections: Connection[]; runs: Map<string, Run>}

const readBeside = async (signal: AbortSignal): Promise<Beside> => {
  const [{connectors}, {runs}] = await Promise.all([
    client.get<Json>(inOrg('/connectors'), {}, signal),
    client.get<Json>(inOrg('/runs'), {limit: 100, dryRun: 'false'}, signal),
  ])
  const newest = new Map<string, Run>()
  for (const run of runs as Run[]) if (run.importId && !newest.has(run.importId)) newest.set(run.importId, run)
  return {connections: connectors, runs: newest}
}

/** Everything that was imported here, the newest first. */
export const Imports = () => {
  const imports = usePages<Listed>('/imports', 'imports', {limit: 25})
  const beside = useLoad<Beside>(readBeside, [])
  const [asked, setAsked] = useState<{what: 'rename' | 'delete'; found: Listed} | null>(null)
  const columns = columnsFor(beside.data, (what, found) => setAsked({what, found}))
  return html`
    <${Page} title="Imports" lead="Each carries the rows of one or more files into your CRM." actions=${may('operator') && html`<a class="button main" href=${to('imports', 'new')}>New import</a>`}>
      <${PagedTable} of=${imports} caption="Imports, newest first" columns=${columns} empty=${html`<${Empty} />`} />
      <${Problem} error=${beside.error} title="Connections and last runs could not be read" again=${beside.again} />
      ${asked?.what === 'rename' && html`<${RenameImport} found=${asked.found} onClose=${() => setAsked(null)} onDone=${imports.again} />`}
      ${asked?.what === 'delete' && html`<${DeleteImport} found=${asked.found} onClose=${() => setAsked(null)} onDone=${imports.again} />`}
    <//>
  `
}

const Empty = () => html`
  <p><strong>Nothing was imported yet</strong></p>
  <p>Send a file, see what is in it, say where each column goes, try it without writing, then run it. Every row’s outcome is told.</p>
  ${may('operator') && html`<p><a class="button main" href=${to('imports', 'new')}>Make the first import</a></p>`}
`

const states: Record<Listed['state'], {word: string; tone: Tone}> = {
  draft: {word: 'Draft', tone: 'neutral'},
  ready: {word: 'Ready', tone: 'info'},
  running: {word: 'Running', tone: 'info'},
  done: {word: 'Done', tone: 'good'},
  expired: {word: 'Expired', tone: 'warning'},
}

const columnsFor = (beside: Beside | undefined, ask: (what: 'rename' | 'delete', found: Listed) => void): Column<Listed>[] => [
  {head: 'Name', isName: true, cell: ({id, name}) => html`<a href=${to('imports', id)}>${name}</a>`},
  {head: 'Connection', cell: ({connectorId}) => (beside ? (beside.connections.find(({id}) => id === connectorId)?.name ?? 'gone') : '')},
  {head: 'State', cell: ({state}) => html`<${Pill} tone=${states[state].tone}>${states[state].word}<//>`},
  {head: 'Last run', cell: ({id, state}) => html`<${LastRun} run=${beside?.runs.get(id)} hasRun=${state === 'done'} id=${id} />`},
  {head: 'Made', cell: ({createdAt}) => at(createdAt)},
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

/** Whoever made it, and admins; while nothing runs in it. */
const mayDelete = ({state, createdBy}: Listed) => state !== 'running' && (createdBy === me.value?.user.id || may('admin'))

const LastRun = ({run, hasRun, id}: {run: Run | undefined; hasRun: boolean; id: string}) => {
  const address = run && addressOf(run)
  if (run) return html`${address ? html`<a href=${address}>${sayCounts(run)}</a>` : sayCounts(run)}`
  return hasRun ? html`<a href=${to('imports', id, 'results')}>See its results</a>` : '–'
}
