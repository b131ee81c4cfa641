import {useEffect, useRef, useState} from 'preact/hooks'
import type {Sample} from '../../sample.ts'
import {html} from '../html.ts'
import {place} from '../state/place.ts'
import {Button} from '../ui/button.ts'
import {Select} from '../ui/field.ts'
import {plural} from '../ui/format.ts'
import {Notice} from '../ui/notice.ts'
import {Pill} from '../ui/pill.ts'
import type {Target} from './expression-field.ts'
import {type Field, isFillable} from './fields.ts'
import {dropMapping, type Issue, issuesAt, missingFields, putMapping, sayMapping} from './flows.ts'
import type {Flow, Mapping, Source} from './import.ts'
import {MappingOptions} from './mapping-options.ts'
import type {FieldsOf} from './module-data.ts'

/** One flow with what its editors show and change. */
export type FlowProps = {
  flow: Flow
  source: Source
  fields: Field[]
  allFields: FieldsOf
  sample: Sample
  target: Omit<Target, 'field'>
  issues: Issue[]
  change: (flow: Flow) => void
}

/** Lists the fields that have no row in the table of columns, such as fixed values and expressions. Missing required fields come first. */
export const FieldList = (props: FlowProps) => {
  const {flow, source, fields, issues, change} = props
  const [opened, setOpened] = useState<string | null>(place.value.query.get('field'))
  const missing = missingFields(flow, fields)
  const add = (apiName: string) => {
    const field = fields.find(one => one.apiName === apiName)
    if (!field) return
    change(putMapping(flow, {field: apiName, mode: 'static', empty: 'leave'}))
    setOpened(apiName)
  }
  const others = flow.fields.filter(mapping => !hasRow(flow, mapping, source))
  const taken = new Set(flow.fields.map(({field}) => field))
  const free = fields.filter(
    field => isFillable(field) && !field.excluded && !taken.has(field.apiName) && flow.parent?.field !== field.apiName,
  )
  return html`
    <section class="gap-above" aria-label="Other fields">
      <h2>${others.length > 0 ? plural(others.length, 'other field') : 'Other fields'}</h2>
      ${
        missing.length > 0 &&
        html`
        <${Notice} kind="warning" title=${missing.length === 1 ? 'A required field is not mapped' : 'Required fields are not mapped'}>
          <div class="actions">${missing.map(({apiName, label}) => html`<${Button} onClick=${() => add(apiName)}>Map ${label}<//>`)}</div>
        <//>
      `
      }
      ${issues.filter(({path}) => path[0] === 'fields' && path.length === 1).map(({message}) => html`<p class="wrong">${flow.fields.length === 0 ? 'Map at least one field, or remove the flow' : message}</p>`)}
      <ul class="plain mappings">
        ${others.map(mapping => html`<li key=${mapping.field}><${OneMapping} ...${props} mapping=${mapping} issues=${issuesAt(issues, 'fields', flow.fields.indexOf(mapping))} isOpened=${opened === mapping.field} /></li>`)}
      </ul>
      ${free.length > 0 && html`<div class="add-field"><${Select} label="Add a field" value="" options=${[{value: '', label: 'Choose a field …'}, ...free.map(fieldOption)]} onChange=${add} /></div>`}
    </section>
  `
}

/** Whether the table of columns shows the mapping: it is the first one that a column of the file fills. */
const hasRow = ({fields}: Flow, {field, source, mode}: Mapping, {columns}: Source) =>
  columns.some(({name}) => name === source) &&
  fields.find(one => one.source === source && one.mode !== 'skip' && one.mode !== 'static')?.field === field &&
  mode !== 'skip'

const fieldOption = ({apiName, label, required}: Field) => ({
  value: apiName,
  label: `${label}${label === apiName ? '' : ` (${apiName})`}${required ? ', required' : ''}`,
})

type OneProps = FlowProps & {mapping: Mapping; isOpened: boolean}

/** One mapping of the list. It stays expanded while it has issues. */
const OneMapping = ({mapping, isOpened, issues, ...props}: OneProps) => {
  const {flow, fields, change} = props
  const [isOpen, setOpen] = useState(isOpened)
  const summary = useRef<HTMLElement>(null)
  useEffect(() => {
    const timer = isOpened && setTimeout(() => summary.current?.focus())
    return () => clearTimeout(timer || undefined)
  }, [])
  const field = fields.find(({apiName}) => apiName === mapping.field)
  const label = field?.label ?? mapping.field
  return html`
    <details class="mapping" open=${isOpen || issues.length > 0} onToggle=${(event: Event) => setOpen((event.currentTarget as HTMLDetailsElement).open)}>
      <summary ref=${summary}>
        <span class="mapping-field">${label}<span class="unseen">: </span></span>
        <span class="mapping-from">${sayMapping(mapping)}</span>
        ${field?.required && html`<${Pill}>required<//>`}
        ${mapping.patch && html`<${Pill} tone="info">after all rows<//>`}
        ${issues.length > 0 && html`<${Pill} tone="bad">${plural(issues.length, 'problem')}<//>`}
      </summary>
      ${
        (isOpen || issues.length > 0) &&
        html`
        <div class="opened">
          ${field ? html`<${MappingOptions} ...${props} mapping=${mapping} field=${field} issues=${issues} />` : html`<p class="wrong">The field ${mapping.field} no longer exists in this module.</p>`}
          <${Button} onClick=${() => change(dropMapping(flow, mapping.field))} label=${`Remove ${label}`}>Remove<//>
        </div>
      `
      }
    </details>
  `
}
