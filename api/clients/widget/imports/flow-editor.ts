import type {Sample} from '../../sample.ts'
import {html} from '../html.ts'
import {to} from '../state/place.ts'
import {t} from '../text/mapping.ts'
import {Button} from '../ui/button.ts'
import {Select} from '../ui/field.ts'
import {Notice, Problem} from '../ui/notice.ts'
import {modulesToChoose} from './add-flow.ts'
import {CleaningEditor} from './cleaning-editor.ts'
import {ExistingRecords} from './existing-records.ts'
import {FieldList} from './field-list.ts'
import type {Module} from './fields.ts'
import {FlowLinks} from './flow-links.ts'
import {MatchFields, RowConditions} from './flow-options.ts'
import {findMissingSubforms, type Issue, issuesAt, newFlowId, sayIssue} from './flows.ts'
import type {Flow, Imported, Source} from './import.ts'
import type {Draft} from './mapping-draft.ts'
import {MappingTable} from './mapping-table.ts'
import {type FieldsOf, useSample} from './module-data.ts'
import {WriteOptions} from './write-options.ts'

type Props = {found: Imported; draft: Draft; at: number; modules: Module[]; allFields: FieldsOf; again: () => Promise<void>}

export const FlowEditor = ({found, draft, at, modules, allFields, again}: Props) => {
  const flow = draft.flows[at]!
  const issues = issuesAt(draft.issues, at)
  const change = (next: Flow) => draft.set(draft.flows.with(at, next))
  const source = found.sources.find(({id}) => id === flow.sourceId)
  const module = modules.find(({apiName}) => apiName === flow.module)
  const own = issues.filter(({path}) => ['id', 'sourceId', 'module'].includes(String(path[0])))
  return html`
    <${FlowHead} found=${found} draft=${draft} at=${at} modules=${modules} />
    ${own.map(issue => html`<p class="wrong">${sayIssue(issue)}</p>`)}
    ${
      source
        ? html`<${OverSource} key=${source.id} found=${found} draft=${draft} flow=${flow} source=${source} module=${module} allFields=${allFields} issues=${issues} change=${change} again=${again} />`
        : html`<p class="wrong">${t.theFileOfThisFlowWasDeleted}</p>`
    }
  `
}

const noSample: Sample = {columns: [], rows: []}

type OverProps = {
  found: Imported
  draft: Draft
  flow: Flow
  source: Source
  module: Module | undefined
  allFields: FieldsOf
  issues: Issue[]
  change: (flow: Flow) => void
  again: () => Promise<void>
}

const OverSource = ({found, draft, flow, source, module, allFields, issues, change, again}: OverProps) => {
  const loaded = useSample(found.id, source)
  // The editor renders before the sample is loaded, because loading a long file takes seconds.
  const sample = loaded.data ?? noSample
  const fields = allFields.get(flow.module) ?? []
  const target = {importId: found.id, sourceId: source.id, connectorId: found.connectorId, module: flow.module}
  return html`
    <${Problem} error=${loaded.error} again=${loaded.again} title=${t.couldNotReadTheRowsOfThe} />
    ${!flow.subform && html`<${ExistingRecords} importId=${found.id} flow=${flow} fields=${fields} source=${source} module=${module} change=${change} />`}
    <${MappingTable} found=${found} flow=${flow} source=${source} fields=${fields} allFields=${allFields} sample=${sample} target=${target} issues=${issues} change=${change} again=${again} />
    ${findMissingSubforms(flow, draft.flows, fields).map(
      ({apiName, label}) => html`
        <div key=${apiName} class="gap-above"><${Notice} kind="warning" title=${t.aNewRecordNeedsARowIn(label)}>
          <p>${t.addAFlowFromTheFileWith(label, flow.id)}</p>
          <div class="actions"><a class="button" href=${to('imports', found.id, 'match', {flow: ' new'})}>${t.addFlowFor(label)}</a></div>
        <//></div>`,
    )}
    <${FieldList} flow=${flow} source=${source} fields=${fields} allFields=${allFields} sample=${sample} target=${target} issues=${issues} change=${change} />
    <${FlowLinks} flow=${flow} flows=${draft.flows} sources=${found.sources} fields=${fields} issues=${issues} change=${change} />
    <details class="sheet gap-above" open=${issues.some(({path}) => ['match', 'filter', 'guard', 'layout', 'assignmentRule', 'tags'].includes(String(path[0])))}>
      <summary>${t.advanced}</summary>
      <div class="opened">
        ${!flow.subform && html`<${MatchFields} flow=${flow} fields=${fields} usual=${module?.match ?? null} issues=${issues} change=${change} />`}
        <${WriteOptions} flow=${flow} module=${module} issues=${issues} change=${change} />
        <${RowConditions} flow=${flow} fields=${fields} sample=${sample} issues=${issues} change=${change} />
        <${CleaningEditor} importId=${found.id} source=${source} again=${again} />
      </div>
    </details>
  `
}

/** The heading of a flow: its module and, if there are several flows, buttons to move it. Records are written in the order of the flows. */
const FlowHead = ({found, draft, at, modules}: Omit<Props, 'allFields' | 'again'>) => {
  const {flows, set} = draft
  const flow = flows[at]!
  const move = (by: 1 | -1) => set(flows.with(at, flows[at + by]!).with(at + by, flow))
  const isMissing = !found.sources.some(({id}) => id === flow.sourceId)
  const choices = modulesToChoose(modules)
  const listed = choices.some(({value}) => value === flow.module) ? choices : [{value: flow.module, label: flow.module}, ...choices]
  const into = (module: string) =>
    set(flows.with(at, {id: newFlowId(flows.toSpliced(at, 1), module), sourceId: flow.sourceId, module, fields: []}))
  return html`
    <div class="row flow-head">
      ${isMissing && html`<${Select} label=${t.file} value=${flow.sourceId} options=${[{value: flow.sourceId, label: t.deletedFile}, ...found.sources.map(({id, label}) => ({value: id, label}))]} onChange=${(sourceId: string) => set(flows.with(at, {...flow, sourceId}))} />`}
      <div class="grow">${
        flow.subform
          ? html`<p>${t.rowsOf} <strong>${flow.subform.field}</strong> ${t.inFlow(flow.subform.parentFlow)}</p>`
          : html`<${Select} label=${t.importInto} value=${flow.module} options=${listed} onChange=${into} />`
      }</div>
      <div class="actions">
        ${flows.length > 1 && html`<${Button} disabled=${at === 0} onClick=${() => move(-1)}>${t.moveUp}<//><${Button} disabled=${at === flows.length - 1} onClick=${() => move(1)}>${t.moveDown}<//>`}
        ${(flows.length > 1 || isMissing) && html`<${Button} onClick=${() => set(flows.toSpliced(at, 1))} label=${t.removeFlow(flow.id)}>${t.remove}<//>`}
      </div>
    </div>
  `
}
