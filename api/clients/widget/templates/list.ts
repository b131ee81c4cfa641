import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import {to} from '../state/place.ts'
import {may} from '../state/session.ts'
import {t} from '../text/schedules.ts'
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
export const Templates = () => {
  const templates = usePages<TemplateOutline>('/templates', 'templates', {limit: 50})
  const empty = html`${t.noTemplatesYet} <a href=${to('imports', 'new')}>${t.createAnImport}</a>${t.thenSaveItAsATemplateOn}`
  return html`
    <${Page} title=${t.templates} lead=${t.reuseAMappingForSimilarFiles}>
      <${PagedTable} of=${templates} caption=${t.templatesNewestFirst} columns=${columns} empty=${empty} />
    <//>
  `
}

const columns = [
  {
    head: t.template,
    isName: true,
    cell: ({id, name, description}: TemplateOutline) =>
      html`<a href=${to('templates', id)}>${name}</a>${description && html`<br /><span class="quiet">${description}</span>`}`,
  },
  {
    head: t.visibleTo,
    cell: ({shared, mine}: TemplateOutline) =>
      shared ? html`<${Pill} tone="info">${t.everyone}<//>` : mine ? t.youAndAdmins : t.itsCreatorAndAdmins,
  },
  {head: t.createdBy, cell: ({createdBy}: TemplateOutline) => createdBy ?? t.deletedUser},
  {head: t.changed, cell: ({updatedAt}: TemplateOutline) => onDay(updatedAt)},
  {
    head: '',
    label: t.actions,
    cell: ({id, name}: Json) =>
      may('operator') &&
      html`<a class="button" href=${to('imports', 'new', {template: id})}>${t.importWord}<span class="unseen"> ${t.withTemplate(name)}</span></a>`,
  },
]
