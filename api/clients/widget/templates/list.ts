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
/** What is done with files of one kind, kept to be done again. */
export const Templates = () => {
  const templates = usePages<TemplateOutline>('/templates', 'templates', {limit: 50})
  const empty = html`There are none yet. <a href=${to('imports', 'new')}>Make an import</a>, and save it as a template under its mapping.`
  return html`
    <${Page} title="Templates" lead="What is done with files of one kind: their columns, where each goes, and how. Import with one, or let a schedule do it.">
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
    head: 'Used by',
    cell: ({shared, mine}: TemplateOutline) =>
      shared ? html`<${Pill} tone="info">everybody<//>` : mine ? 'you and admins' : 'its creator and admins',
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
