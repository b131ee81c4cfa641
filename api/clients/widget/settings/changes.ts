import {useState} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {place, setQuery} from '../state/place.ts'
import {client, inOrg} from '../state/session.ts'
import {Button} from '../ui/button.ts'
import {Select} from '../ui/field.ts'
import {at} from '../ui/format.ts'
import {Problem} from '../ui/notice.ts'
import {Shown} from '../ui/page.ts'
import {Table} from '../ui/table.ts'
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

/** Who changed which setting, from what to what; a page more at a time. */
export const Changes = () => {
  const connector = place.value.query.get('connection') ?? ''
  const connectors = useLoad<Connector[]>(async signal => (await client.get(inOrg('/connectors'), {}, signal)).connectors, [])
  const options = [{value: '', label: 'The organisation’s own'}, ...(connectors.data ?? []).map(({id, name}) => ({value: id, label: name}))]
  return html`
    <${SettingsFrame} title="Changes" lead="Every changed setting, with who changed it, from what and to what.">
      <div class="settings-filter">
        <${Select} label="Also of the connection" value=${connector} options=${options} onChange=${(id: string) => setQuery({connection: id})} />
      </div>
      <${ChangeList} key=${connector} connector=${connector} />
    <//>
  `
}

const ChangeList = ({connector}: {connector: string}) => {
  const [older, setOlder] = useState<{changes: Change[]; nextCursor: string | null} | null>(null)
  const read = (signal?: AbortSignal, cursor?: string): Promise<Json> =>
    client.get(inOrg('/config/changes'), {limit: 50, connector: connector || null, cursor}, signal)
  const first = useLoad<{changes: Change[]; nextCursor: string | null}>(read, [connector])
  const cursor = (older ?? first.data)?.nextCursor
  const more = useDoing(async () => {
    const page = await read(undefined, cursor!)
    setOlder({changes: [...(older?.changes ?? []), ...page.changes], nextCursor: page.nextCursor})
  })
  return html`
    <${Shown} of=${first}>
      ${({changes}: {changes: Change[]}) => html`
        <${Table} caption="Changes, newest first" columns=${columns} rows=${[...changes, ...(older?.changes ?? [])]} keyOf=${({id}: Change) => id} empty="Nothing has been changed yet." />
      `}
    <//>
    <${Problem} error=${more.error} />
    ${cursor && html`<p class="settings-more"><${Button} isBusy=${more.isBusy} onClick=${() => more.run()}>Show older<//></p>`}
  `
}

const columns = [
  {head: 'When', cell: ({createdAt}: Change) => at(createdAt)},
  {
    head: 'Who',
    cell: ({userName, via, tokenName}: Change) =>
      html`${userName ?? 'Nobody signed in'}<br /><span class="quiet">${tokenName ? `token ${tokenName}` : via}</span>`,
  },
  {
    head: 'What',
    isName: true,
    cell: ({subject, target, proposedBy}: Change) =>
      html`${subject}${target && html`<br /><span class="quiet">${target}</span>`}${proposedBy && html`<br /><span class="quiet">proposed by ${proposedBy}</span>`}`,
  },
  {head: 'Before', cell: ({before}: Change) => html`<${Value} value=${before} />`},
  {head: 'After', cell: ({after}: Change) => html`<${Value} value=${after} />`},
]

const shortest = 80

/** Short values stand in the row; longer ones open. */
const Value = ({value}: {value: unknown}) => {
  if (value === null || value === undefined) return html`<span class="quiet">none</span>`
  if (typeof value !== 'object' && String(value).length <= shortest) return html`<code>${String(value)}</code>`
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
  if (text.length <= shortest) return html`<code>${text}</code>`
  return html`<details><summary>Show</summary><pre tabindex="0">${text}</pre></details>`
}
