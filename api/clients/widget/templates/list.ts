import {useState} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {to} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
import {Button} from '../ui/button.ts'
import {onDay} from '../ui/format.ts'
import {Problem} from '../ui/notice.ts'
import {Page, Shown} from '../ui/page.ts'
import {Pill} from '../ui/pill.ts'
import {Table} from '../ui/table.ts'

export type TemplateOutline = {
  id: string
  name: string
  description: string | null
  connectorId: string | null
  version: number
  shared: boolean
  createdBy: string | null
  mine: boolean
  mayEdit: boolean
  updatedAt: string
}
type PageOf = {templates: TemplateOutline[]; nextCursor: string | null}

const read = (signal?: AbortSignal, cursor?: string) => client.get<PageOf>(inOrg('/templates'), {limit: 50, cursor}, signal)

/** What is done with files of one kind, kept to be done again. */
export const Templates = () => {
  const first = useLoad<PageOf>(read, [])
  const [older, setOlder] = useState<PageOf | null>(null)
  const cursor = (older ?? first.data)?.nextCursor
  const more = useDoing(async () => {
    const page = await read(undefined, cursor!)
    setOlder({templates: [...(older?.templates ?? []), ...page.templates], nextCursor: page.nextCursor})
  })
  return html`
    <${Page} title="Templates" lead="What is done with files of one kind: their columns, where each goes, and how. Import with one, or let a schedule do it.">
      <${Shown} of=${first}>
        ${({templates}: PageOf) => html`
          <${Table}
            caption="Templates, newest first"
            columns=${columns}
            rows=${[...templates, ...(older?.templates ?? [])]}
            keyOf=${({id}: TemplateOutline) => id}
            empty=${html`There are none yet. <a href=${to('imports', 'new')}>Make an import</a>, and save it as a template under its mapping.`}
          />
        `}
      <//>
      <${Problem} error=${more.error} />
      ${cursor && html`<p class="settings-more"><${Button} isBusy=${more.isBusy} onClick=${() => more.run()}>Show older<//></p>`}
    <//>
  `
}

const columns = [
  {
    head: 'Template',
    isName: true,
    cell: ({id, name, description}: TemplateOutline) =>
      html`<a href=${to('templates', id)}>${name}</a>${description && html`<br /><span class="quiet">${description}</span>`}`,
  },
  {
    head: 'Used by',
    cell: ({shared, mine}: TemplateOutline) => (shared ? html`<${Pill} tone="info">everybody<//>` : mine ? 'you alone' : 'its creator'),
  },
  {head: 'Made by', cell: ({createdBy}: TemplateOutline) => createdBy ?? 'somebody who was deleted'},
  {head: 'Changed', cell: ({updatedAt}: TemplateOutline) => onDay(updatedAt)},
  {
    head: '',
    label: 'Actions',
    cell: ({id, name}: Json) =>
      may('operator') &&
      html`<a class="button" href=${to('imports', 'new', {template: id})}>Import<span class="unseen"> with ${name}</span></a>`,
  },
]
