import {html} from '../html.ts'
import {useLoad} from '../state/load.ts'
import {place, setQuery} from '../state/place.ts'
import {client, inOrg} from '../state/session.ts'
import {Select} from '../ui/field.ts'
import {at} from '../ui/format.ts'
import {PagedTable, usePages} from '../ui/paged-table.ts'
import {AuditDownload} from './audit.ts'
import {SettingsFrame} from './frame.ts'

type Change = {
  id: string
  page: string
  subject: string
  target: string | null
  before: unknown
  after: unknown
  proposedBy: string | null
  userName: string | null
  via: string
  tokenName: string | null
  createdAt: string
}
type Connector = {id: string; name: string}

/** The history of the settings, page by page. */
export const Changes = () => {
  const connector = place.value.query.get('connection') ?? ''
  const connectors = useLoad<Connector[]>(async signal => (await client.get(inOrg('/connectors'), {}, signal)).connectors, [])
  const changes = usePages<Change>('/config/changes', 'changes', {limit: 50, connector: connector || null})
  const options = [{value: '', label: 'None'}, ...(connectors.data ?? []).map(({id, name}) => ({value: id, label: name}))]
  return html`
    <${SettingsFrame} title="Changes" lead="The history of all settings: who changed what, and when.">
      <div class="settings-filter">
        <${Select} label="Include changes of a connection" value=${connector} options=${options} onChange=${(id: string) => setQuery({connection: id})} />
      </div>
      <${AuditDownload} />
      <${PagedTable} of=${changes} caption="Changes, newest first" columns=${columns} empty="No changes yet." />
    <//>
  `
}

const columns = [
  {head: 'When', cell: ({createdAt}: Change) => at(createdAt)},
  {
    head: 'Who',
    cell: ({userName, via, tokenName}: Change) =>
      html`${userName ?? 'No signed-in user'}<br /><span class="quiet">${tokenName ? `token ${tokenName}` : via}</span>`,
  },
  {
    head: 'What',
    isName: true,
    cell: ({subject, target, proposedBy}: Change) =>
      html`<span class="unbroken">${subject}</span>${target && html`<br /><span class="quiet">${target}</span>`}${proposedBy && html`<br /><span class="quiet">proposed by ${proposedBy}</span>`}`,
  },
  {head: 'Before', cell: ({before}: Change) => html`<${Value} value=${before} />`},
  {head: 'After', cell: ({after}: Change) => html`<${Value} value=${after} />`},
]

const shortest = 80

/** Shows a value. A long one can be expanded. */
const Value = ({value}: {value: unknown}) => {
  if (value === null || value === undefined) return html`<span class="quiet">none</span>`
  if (typeof value !== 'object' && String(value).length <= shortest) return html`<code>${String(value)}</code>`
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
  if (text.length <= shortest) return html`<code>${text}</code>`
  return html`<details><summary>Show</summary><pre tabindex="0">${text}</pre></details>`
}
