import {html} from '../html.ts'
import type {PageProps} from '../pages.ts'
import {go, place, to} from '../state/place.ts'
import {may} from '../state/session.ts'
import {Notice} from '../ui/notice.ts'
import {Shown} from '../ui/page.ts'
import {Tabs} from '../ui/tabs.ts'
import {AddFlow} from './add-flow.ts'
import type {Module} from './fields.ts'
import {FlowEditor} from './flow-editor.ts'
import {issuesAt} from './flows.ts'
import {ImportFrame} from './frame.ts'
import type {Flow} from './import.ts'
import type {LoadedImport} from './known.ts'
import {type Draft, useDraft} from './mapping-draft.ts'
import {type FieldsOf, useFields, useModules} from './module-data.ts'
import {SaveBar} from './save-bar.ts'

/** The mapping step: which columns go into which fields. */
export const Mapping = ({params: {id}}: PageProps) => html`
  <${ImportFrame} id=${id} step="mapping" lead="Choose the field for each column. Saving writes nothing to the CRM.">
    ${(loadedImport: LoadedImport) => html`<${MappingOf} known=${loadedImport} />`}
  <//>
`

const MappingOf = ({known: loadedImport}: {known: LoadedImport}) => {
  const {import: found} = loadedImport
  const draft = useDraft(loadedImport)
  const modules = useModules(found.connectorId)
  const own = useFields(
    found.connectorId,
    draft.flows.map(({module}) => module),
  )
  const linked = linkedModules(draft.flows, own.data)
  const fields = useFields(found.connectorId, [...draft.flows.map(({module}) => module), ...linked])
  if (found.sources.length === 0)
    return html`<p class="empty">No files yet. <a href=${to('imports', found.id, 'files')}>Upload a file first</a>.</p>`
  return html`
    ${found.state === 'running' && html`<${Notice}>A run is active. You can save the mapping when it has ended.<//>`}
    <${Shown} of=${modules}>
      ${(list: Module[]) => html`<${Shown} of=${fields}>${(allFields: FieldsOf) => html`<${Flows} known=${loadedImport} draft=${draft} modules=${list} allFields=${allFields} />`}<//>`}
    <//>
  `
}

/** Returns the modules to which lookups refer that are mapped by a search. */
const linkedModules = (flows: Flow[], fields: FieldsOf | undefined): string[] =>
  flows.flatMap(flow =>
    flow.fields.flatMap(({mode, field}) => {
      const link = mode === 'search' && fields?.get(flow.module)?.find(({apiName}) => apiName === field)?.lookup
      return link ? [link.module] : []
    }),
  )

type FlowsProps = {known: LoadedImport; draft: Draft; modules: Module[]; allFields: FieldsOf}

const Flows = ({known: {import: found}, draft, modules, allFields}: FlowsProps) => {
  const {flows} = draft
  const wanted = place.value.query.get('flow')
  const isAdding = flows.length === 0 || wanted === ' new'
  const at = Math.max(
    0,
    flows.findIndex(({id}) => id === wanted),
  )
  const address = (flow: string) => to('imports', found.id, 'mapping', {flow})
  const add = (flow: Flow) => {
    draft.set([...flows, flow])
    go(address(flow.id), {replace: true})
  }
  const label = ({id}: Flow, n: number) => {
    const wrong = issuesAt(draft.issues, n).length
    return wrong > 0 ? `${id} (${wrong})` : id
  }
  const tabs = [
    ...flows.map((flow, n) => ({href: address(flow.id), label: label(flow, n), isHere: !isAdding && n === at})),
    {href: address(' new'), label: '+ Add flow', isHere: isAdding},
  ]
  return html`
    ${flows.length > 0 && html`<${Tabs} label="Flows" tabs=${tabs} />`}
    <fieldset class="bare" disabled=${!may('operator')}>${
      isAdding
        ? html`<${AddFlow} found=${found} flows=${flows} modules=${modules} allFields=${allFields} add=${add} ...${flows.length > 0 ? {onCancel: () => go(address(flows[0]!.id))} : {}} />`
        : html`<${FlowEditor} key=${flows[at]!.id} found=${found} draft=${draft} at=${at} modules=${modules} allFields=${allFields} />`
    }</fieldset>
    ${(flows.length > 0 || draft.isChanged) && html`<${SaveBar} found=${found} draft=${draft} />`}
  `
}
