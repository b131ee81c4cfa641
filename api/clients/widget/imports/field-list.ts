import {useEffect, useRef, useState} from 'preact/hooks'
import type {Sample} from '../../sample.ts'
import {html} from '../html.ts'
import {place} from '../state/place.ts'
import {t} from '../text/mapping.ts'
import {Button} from '../ui/button.ts'
import {Select} from '../ui/field.ts'
import {Notice} from '../ui/notice.ts'
import {Pill} from '../ui/pill.ts'
import type {Target} from './expression-field.ts'
import {type Field, isFillable} from './fields.ts'
import {dropMapping, type Issue, issuesAt, missingFields, putMapping, sayMapping} from './flows.ts'
import type {Flow, Mapping, Source} from './import.ts'
import {MappingOptions} from './mapping-options.ts'
import type {FieldsOf} from './module-data.ts'

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
    <section class="gap-above" aria-label=${t.otherFields}>
      <h2>${others.length > 0 ? t.otherFieldCount(others.length) : t.otherFields}</h2>
      ${
        missing.length > 0 &&
        html`
        <${Notice} kind="warning" title=${missing.length === 1 ? t.aRequiredFieldIsNotMapped : t.requiredFieldsAreNotMapped}>
          <div class="actions">${missing.map(({apiName, label}) => html`<${Button} onClick=${() => add(apiName)}>${t.map(label)}<//>`)}</div>
        <//>
      `
      }
      ${issues.filter(({path}) => path[0] === 'fields' && path.length === 1).map(({message}) => html`<p class="wrong">${flow.fields.length === 0 ? t.mapAtLeastOneFieldOrRemove : message}</p>`)}
      <ul class="plain mappings">
        ${others.map(mapping => html`<li key=${mapping.field}><${OneMapping} ...${props} mapping=${mapping} issues=${issuesAt(issues, 'fields', flow.fields.indexOf(mapping))} isOpened=${opened === mapping.field} /></li>`)}
      </ul>
      ${free.length > 0 && html`<div class="add-field"><${Select} label=${t.addAField} value="" options=${[{value: '', label: t.chooseAField}, ...free.map(fieldOption)]} onChange=${add} /></div>`}
    </section>
  `
}

/** Whether the table of columns shows the mapping. A column of the file shows only the first mapping that reads it. */
const hasRow = ({fields}: Flow, {field, source, mode}: Mapping, {columns}: Source) =>
  columns.some(({name}) => name === source) &&
  fields.find(one => one.source === source && one.mode !== 'skip' && one.mode !== 'static')?.field === field &&
  mode !== 'skip'

const fieldOption = ({apiName, label, required}: Field) => ({
  value: apiName,
  label: `${label}${label === apiName ? '' : ` (${apiName})`}${required ? t.requiredSuffix : ''}`,
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
        ${field?.required && html`<${Pill}>${t.required}<//>`}
        ${mapping.patch && html`<${Pill} tone="info">${t.afterAllRows}<//>`}
        ${issues.length > 0 && html`<${Pill} tone="bad">${t.problemCount(issues.length)}<//>`}
      </summary>
      ${
        (isOpen || issues.length > 0) &&
        html`
        <div class="opened">
          ${field ? html`<${MappingOptions} ...${props} mapping=${mapping} field=${field} issues=${issues} />` : html`<p class="wrong">${t.theFieldNoLongerExistsInThis(mapping.field)}</p>`}
          <${Button} onClick=${() => change(dropMapping(flow, mapping.field))} label=${t.removeNamed(label)}>${t.remove}<//>
        </div>
      `
      }
    </details>
  `
}
