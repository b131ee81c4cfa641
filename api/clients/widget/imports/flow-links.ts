import {html} from '../html.ts'
import {t} from '../text/options.ts'
import {Select} from '../ui/field.ts'
import type {Field} from './fields.ts'
import {type Issue, issuesAt, sayIssue} from './flows.ts'
import type {Flow, RowKey, Source} from './import.ts'

type Props = {flow: Flow; flows: Flow[]; sources: Source[]; fields: Field[]; issues: Issue[]; change: (flow: Flow) => void}

const columnsOf = (sources: Source[], id: string) => sources.find(one => one.id === id)?.columns.map(({name}) => name) ?? []
const asOptions = (names: string[]) => [{value: '', label: t.chooseAColumn}, ...names.map(name => ({value: name, label: name}))]

type KeyProps = {value: RowKey | null | undefined; parent: Flow; flow: Flow; sources: Source[]; set: (key: RowKey | null) => void}

/** The inputs that say how a row finds its parent: the same row of the file, or equal values in two columns. */
const KeyFields = ({value, parent, flow, sources, set}: KeyProps) => {
  const canBeSame = parent.sourceId === flow.sourceId && parent.id !== flow.id
  const key = value ?? {parentColumn: '', childColumn: ''}
  const ways = [
    {value: 'same', label: t.theSameRowOfTheFile},
    {value: 'key', label: t.theRowWithTheSameValueIn},
  ]
  return html`
    ${canBeSame && html`<${Select} label=${t.parentRow} value=${value ? 'key' : 'same'} options=${ways} onChange=${(way: string) => set(way === 'key' ? key : null)} />`}
    ${
      (value || !canBeSame) &&
      html`
      <${Select} label=${t.columnOfTheParentsFile} value=${key.parentColumn} options=${asOptions(columnsOf(sources, parent.sourceId))} onChange=${(parentColumn: string) => set({...key, parentColumn})} />
      <${Select} label=${t.columnOfThisFile} value=${key.childColumn} options=${asOptions(columnsOf(sources, flow.sourceId))} onChange=${(childColumn: string) => set({...key, childColumn})} />
    `
    }
  `
}

export const FlowLinks = (props: Props) => (props.flow.subform ? html`<${SubformLink} ...${props} />` : html`<${ParentLink} ...${props} />`)

const whenMissing = [
  {value: 'fail', label: t.failTheRow},
  {value: 'leave', label: t.leaveTheFieldEmpty},
  {value: 'skip', label: t.skipTheRow},
]

const ParentLink = ({flow, flows, sources, fields, issues, change}: Props) => {
  const {parent: _, ...rest} = flow
  const links = flows.flatMap(other =>
    other.subform
      ? []
      : fields.filter(({lookup, type}) => type === 'lookup' && lookup?.module === other.module).map(field => ({other, field})),
  )
  if (links.length === 0 && !flow.parent) return null
  const {parent} = flow
  const of = flows.find(({id}) => id === parent?.flow)
  const choose = (at: string) => {
    const link = links[Number(at)]
    change(
      at && link
        ? {...dropped(rest, link.field.apiName), parent: {field: link.field.apiName, flow: link.other.id, onMissing: 'fail'}}
        : rest,
    )
  }
  const chosen = links.findIndex(({other, field}) => other.id === parent?.flow && field.apiName === parent.field)
  return html`
    <fieldset>
      <legend>${t.linkedToAnotherFlow}</legend>
      <div class="columns">
        <${Select} label=${t.linkRows} value=${chosen < 0 ? '' : String(chosen)} options=${[{value: '', label: t.notToAnotherFlow}, ...links.map(({other, field}, at) => ({value: String(at), label: t.toBy(other.id, field.label)}))]} onChange=${choose} />
        ${
          parent &&
          of &&
          html`
          <${KeyFields} value=${parent.key} parent=${of} flow=${flow} sources=${sources} set=${(key: RowKey | null) => change({...flow, parent: {...parent, key}})} />
          <${Select} label=${t.ifTheParentHasNoRecord} value=${parent.onMissing} options=${whenMissing} onChange=${(onMissing: string) => change({...flow, parent: {...parent, onMissing: onMissing as typeof parent.onMissing}})} />
        `
        }
      </div>
      ${issuesAt(issues, 'parent').map(issue => html`<p class="wrong">${sayIssue(issue)}</p>`)}
    </fieldset>
  `
}

/** Returns the flow without the mapping of `field`, because the link to the parent fills that field. */
const dropped = (flow: Flow, field: string): Flow => ({...flow, fields: flow.fields.filter(one => one.field !== field)})

const SubformLink = ({flow, flows, sources, issues, change}: Props) => {
  const subform = flow.subform!
  const of = flows.find(({id}) => id === subform.parentFlow)
  return html`
    <fieldset>
      <legend>${t.subform}</legend>
      <p class="hint">${t.theRowsReplaceTheContentsOfIn(subform.field, subform.parentFlow)}</p>
      ${of && html`<div class="columns"><${KeyFields} value=${subform.key} parent=${of} flow=${flow} sources=${sources} set=${(key: RowKey | null) => change({...flow, subform: {...subform, key}})} /></div>`}
      ${issuesAt(issues, 'subform').map(issue => html`<p class="wrong">${sayIssue(issue)}</p>`)}
    </fieldset>
  `
}
