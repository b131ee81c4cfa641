import {useState} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import {useFieldLabels, useModuleLabels} from '../imports/module-data.ts'
import type {PageProps} from '../pages.ts'
import type {VerifyMode} from '../runs/verify-choice.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {go, to} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
import {t} from '../text/schedules.ts'
import {Button} from '../ui/button.ts'
import {Confirm} from '../ui/dialog.ts'
import {Select} from '../ui/field.ts'
import {Notice, Problem, say} from '../ui/notice.ts'
import {Page, Shown} from '../ui/page.ts'
import {Table} from '../ui/table.ts'
import {ApprovalSection} from './approval.ts'
import {ContractSection} from './contract.ts'
import type {TemplateOutline} from './list.ts'
import {type Recheck, RecheckNotice} from './recheck.ts'
import {readConnections} from './schedule-connections.ts'
import {Schedules} from './schedules.ts'
import {VerificationSection} from './verification.ts'

type Slot = {slot: string; label: string; columns: string[]}
type Flow = {id: string; sourceId: string; module: string; match?: {by: string[]}; fields: {field: string; mode: string; source?: string}[]}
type Read = {template: Template; recheck: Recheck | null}
export type Template = TemplateOutline & {sources: Slot[]; flows: Flow[]; verify: VerifyMode}

export const TemplatePage = ({params}: PageProps) => {
  const {id} = params as {id: string}
  const loaded = useLoad<Read>(signal => client.get<Read>(inOrg(`/templates/${id}`), {}, signal), [id])
  const template = loaded.data?.template
  return html`
    <${Page}
      title=${template?.name ?? t.template}
      trail=${[{label: t.templates, href: to('templates')}]}
      lead=${template?.description}
      actions=${template && may('operator') && html`<a class="button main" href=${to('imports', 'new', {template: id})}>${t.newImport}</a>`}
    >
      <${Shown} of=${loaded}>
        ${({template: one, recheck}: Read) => html`
          ${one.mayEdit && html`<${Deeds} template=${one} again=${loaded.again} />`}
          <${RecheckNotice} recheck=${recheck} connectorId=${one.connectorId} />
          <${Check} template=${one} />
          <${Contents} template=${one} />
          <${VerificationSection} template=${one} again=${loaded.again} />
          <${ContractSection} template=${one} />
          ${may('builder') && html`<${ApprovalSection} template=${one} />`}
          ${may('builder') && html`<${Schedules} template=${one} />`}
        `}
      <//>
    <//>
  `
}

const Contents = ({template: {sources, flows, connectorId}}: {template: Template}) => {
  // If the template's connection was deleted, API names are shown instead of labels.
  const read = connectorId === null ? [] : flows.map(({module}) => module)
  const labelOf = useFieldLabels(connectorId ?? '', read)
  const labelOfModule = useModuleLabels(connectorId)
  return html`
  <h2>${t.files}</h2>
  <${Table}
    caption=${t.files}
    rows=${sources}
    keyOf=${({slot}: Slot) => slot}
    columns=${[
      {head: t.file, isName: true, cell: ({label, slot}: Slot) => html`${label} <code class="quiet">${slot}</code>`},
      {head: t.columns, cell: ({columns}: Slot) => columns.join(', ')},
    ]}
  />
  <h2>${t.flows}</h2>
  <${Table}
    caption=${t.flows}
    rows=${flows}
    keyOf=${({id}: Flow) => id}
    columns=${[
      {head: t.module, isName: true, cell: ({module}: Flow) => labelOfModule(module)},
      {head: t.from, cell: ({sourceId}: Flow) => sources.find(({slot}) => slot === sourceId)?.label ?? sourceId},
      {head: t.matchedBy, cell: ({module, match}: Flow) => match?.by.map(field => labelOf(module, field)).join(' + ') || t.notMatched},
      {
        head: t.fields,
        cell: ({module, fields}: Flow) =>
          html`<details><summary>${t.fieldCount(fields.length)}</summary><ul>${fields.map(({field, mode, source}) => html`<li>${labelOf(module, field)} ← ${mode === 'column' ? source : (t.modes[mode] ?? mode)}</li>`)}</ul></details>`,
      },
    ]}
  />
`
}

const Check = ({template}: {template: Template}) => {
  const [found, setFound] = useState<Json[] | null>(null)
  const [chosen, setChosen] = useState<string | null>(null)
  const isFree = template.connectorId === null
  const {data: connections = []} = useLoad(async signal => (isFree ? readConnections(null, signal) : []), [isFree])
  const connector = template.connectorId ?? chosen ?? connections[0]?.id
  const check = useDoing(async () => {
    const {problems} = await client.get<Json>(inOrg(`/templates/${template.id}/check`), {connector})
    setFound(problems)
  })
  return html`
    ${connections.length > 1 && html`<${Select} label=${t.connection} value=${connector} options=${connections.map(({id, name}) => ({value: id, label: name}))} onChange=${setChosen} />`}
    <div class="row">
      <${Button} isBusy=${check.isBusy} onClick=${() => check.run()}>${t.checkAgainstCrm}<//>
      ${found?.length === 0 && html`<span role="status">${t.theTemplateFitsTheCrm}</span>`}
    </div>
    <br />
    <${Problem} error=${check.error} />
    ${
      found &&
      found.length > 0 &&
      html`
        <${Notice} kind=${found.some(({stops}) => stops) ? 'bad' : 'warning'} title=${t.differencesSinceTheTemplateWas(found.length)}>
          <ul>${found.map(({message, stops}) => html`<li>${message}${stops ? '' : ` ${t.doesNotStopImports}`}</li>`)}</ul>
        <//>
      `
    }
  `
}

const Deeds = ({template, again}: {template: Template; again: () => void}) => {
  const {id, name, shared, version} = template
  const [isLeaving, setLeaving] = useState(false)
  const share = useDoing(async () => {
    await client.post(inOrg(`/templates/${id}/share`), {shared: !shared})
    say(shared ? t.templateIsPrivate : t.templateSharedWithTheOrganisation)
    again()
  })
  if (!may('builder')) return null
  return html`
    <div class="actions">
      <${Button} isBusy=${share.isBusy} onClick=${() => share.run()}>${shared ? t.makePrivate : t.shareWithOrganisation}<//>
      <${Button} kind="danger" onClick=${() => setLeaving(true)}>${t.deleteWord}<//>
    </div>
    <br />
    <${Problem} error=${share.error} />
    ${
      isLeaving &&
      html`
        <${Confirm}
          title=${t.deleteQuestion(name)}
          action=${t.deleteWord}
          isDangerous
          onClose=${() => setLeaving(false)}
          work=${async () => {
            await client.delete(inOrg(`/templates/${id}`), {'if-match': `"${version}"`})
            say(t.deleted(name))
            go(to('templates'))
          }}
        >
          ${t.itsSchedulesAreDeletedTooImports}
        <//>
      `
    }
  `
}
