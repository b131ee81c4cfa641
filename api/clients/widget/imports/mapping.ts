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
import type {Known} from './known.ts'
import {type Draft, useDraft} from './mapping-draft.ts'
import {type FieldsOf, useFields, useModules} from './module-data.ts'
import {SaveBar} from './save-bar.ts'

/** Which column goes into which field, and how. */
export const Mapping = ({params: {id}}: PageProps) => html`
  <${ImportFrame} id=${id} step="mapping" lead="Which column goes into which field, and how. Nothing is written by saving it.">
    ${(known: Known) => html`<${MappingOf} known=${known} />`}
  <//>
`

const MappingOf = ({known}: {known: Known}) => {
  const {import: found} = known
  const draft = useDraft(known)
  const modules = useModules(found.connectorId)
  const own = useFields(
    found.connectorId,
    draft.flows.map(({module}) => module),
  )
  const linked = linkedModules(draft.flows, own.data)
  const fields = useFields(found.connectorId, [...draft.flows.map(({module}) => module), ...linked])
  if (found.sources.length === 0)
    return html`<p class="empty">There is no file to map from yet. <a href=${to('imports', found.id, 'files')}>Send one first</a>.</p>`
  return html`
    ${found.state === 'running' && html`<${Notice}>A run is under way. The mapping can be saved when it has ended.<//>`}
    <${Shown} of=${modules}>
      ${(list: Module[]) => html`<${Shown} of=${fields}>${(allFields: FieldsOf) => html`<${Flows} known=${known} draft=${draft} modules=${list} allFields=${allFields} />`}<//>`}
    <//>
  `
}

/** Where searches look: the modules of the links that are mapped so. */
const linkedModules = (flows: Flow[], fields: FieldsOf | undefined): string[] =>
  flows.flatMap(flow =>
    flow.fields.flatMap(({mode, field}) => {
      const link = mode === 'search' && fields?.get(flow.module)?.find(({apiName}) => apiName === field)?.lookup
      return link ? [link.module] : []
    }),
  )

type FlowsProps = {known: Known; draft: Draft; modules: Module[]; allFields: FieldsOf}

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
    {href: address(' new'), label: '+ Another flow', isHere: isAdding},
  ]
  return html`
    ${flows.length > 0 && html`<${Tabs} label="Flows" tabs=${tabs} />`}
    <fieldset class="bare" disabled=${!may('operator')}>${
      isAdding
        ? html`<${AddFlow} found=${found} flows=${flows} modules=${modules} allFields=${allFields} add=${add} ...${flows.length > 0 ? {onCancel: () => go(address(flows[0]!.id))} : {}} />`
        : html`<${FlowEditor} key=${flows[at]!.id} found=${found} draft=${draft} at=${at} allFields=${allFields} />`
    }</fieldset>
    ${(flows.length > 0 || draft.isChanged) && html`<${SaveBar} found=${found} draft=${draft} />`}
  `
}
