import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import {to} from '../state/place.ts'
import {may} from '../state/session.ts'
import {onDay} from '../ui/format.ts'
import {Page} from '../ui/page.ts'
import {PagedTable, usePages} from '../ui/paged-table.ts'
import {Pill} from '../ui/pill.ts'

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
/** The templates of the org. */
export const Templates = () => {
  const templates = usePages<TemplateOutline>('/templates', 'templates', {limit: 50})
  const empty = html`No templates yet. <a href=${to('imports', 'new')}>Create an import</a>, then save it as a template on the mapping page.`
  return html`
    <${Page} title="Templates" lead="Reuse a mapping for similar files, manually or on a schedule.">
      <${PagedTable} of=${templates} caption="Templates, newest first" columns=${columns} empty=${empty} />
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
    head: 'Visible to',
    cell: ({shared, mine}: TemplateOutline) =>
      shared ? html`<${Pill} tone="info">everyone<//>` : mine ? 'you and admins' : 'its creator and admins',
  },
  {head: 'Created by', cell: ({createdBy}: TemplateOutline) => createdBy ?? 'Deleted user'},
  {head: 'Changed', cell: ({updatedAt}: TemplateOutline) => onDay(updatedAt)},
  {
    head: '',
    label: 'Actions',
    cell: ({id, name}: Json) =>
      may('operator') &&
      html`<a class="button" href=${to('imports', 'new', {template: id})}>Import<span class="unseen"> with ${name}</span></a>`,
  },
]
