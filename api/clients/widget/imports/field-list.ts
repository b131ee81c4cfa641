import {useEffect, useRef, useState} from 'preact/hooks'
import type {Sample} from '../../sample.ts'
import {html} from '../html.ts'
import {place} from '../state/place.ts'
import {Button} from '../ui/button.ts'
import {Check, Select} from '../ui/field.ts'
import {plural} from '../ui/format.ts'
import {Notice} from '../ui/notice.ts'
import {Pill} from '../ui/pill.ts'
import type {Target} from './expression-field.ts'
import {type Field, isFillable, isLink} from './fields.ts'
import {dropMapping, type Issue, issuesAt, missingFields, putMapping, sayMapping} from './flows.ts'
import type {Flow, Mapping, Source} from './import.ts'
import {errorAt, modeFields, modesFor} from './mapping-modes.ts'
import type {FieldsOf} from './module-data.ts'

type Props = {
  flow: Flow
  source: Source
  fields: Field[]
  allFields: FieldsOf
  sample: Sample
  target: Omit<Target, 'field'>
  issues: Issue[]
  change: (flow: Flow) => void
}

/** Lists the mapped fields with their sources. Missing required fields come first. */
export const FieldList = (props: Props) => {
  const {flow, fields, issues, change} = props
  const [opened, setOpened] = useState<string | null>(place.value.query.get('field'))
  const missing = missingFields(flow, fields)
  const add = (apiName: string) => {
    const field = fields.find(one => one.apiName === apiName)
    if (!field) return
    change(putMapping(flow, {field: apiName, mode: isLink(field) && field.type === 'lookup' ? 'search' : 'column', empty: 'leave'}))
    setOpened(apiName)
  }
  const taken = new Set(flow.fields.map(({field}) => field))
  const free = fields.filter(
    field => isFillable(field) && !field.excluded && !taken.has(field.apiName) && flow.parent?.field !== field.apiName,
  )
  return html`
    <section aria-label="Mapped fields">
      <h2>${plural(flow.fields.filter(({mode}) => mode !== 'skip').length, 'field')} mapped</h2>
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
        ${flow.fields.map((mapping, at) => html`<li key=${mapping.field}><${OneMapping} ...${props} mapping=${mapping} issues=${issuesAt(issues, 'fields', at)} isOpened=${opened === mapping.field} /></li>`)}
      </ul>
      ${free.length > 0 && html`<div class="add-field"><${Select} label="Add a field" value="" options=${[{value: '', label: 'Choose a field …'}, ...free.map(fieldOption)]} onChange=${add} /></div>`}
    </section>
  `
}

const fieldOption = ({apiName, label, required}: Field) => ({
  value: apiName,
  label: `${label}${label === apiName ? '' : ` (${apiName})`}${required ? ', required' : ''}`,
})

type OneProps = Props & {mapping: Mapping; isOpened: boolean}

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
          ${field ? html`<${MappingEditor} ...${props} mapping=${mapping} field=${field} issues=${issues} />` : html`<p class="wrong">The field ${mapping.field} no longer exists in this module.</p>`}
          <${Button} onClick=${() => change(dropMapping(flow, mapping.field))} label=${`Remove ${label}`}>Remove<//>
        </div>
      `
      }
    </details>
  `
}

type EditorProps = Props & {mapping: Mapping; field: Field}

const MappingEditor = ({flow, source, allFields, sample, target, mapping, field, issues, change}: EditorProps) => {
  const set = (changes: Partial<Mapping>) => change(putMapping(flow, {...mapping, ...changes}))
  const Mode = modeFields[mapping.mode]
  const linked = (field.lookup && allFields.get(field.lookup.module)) || []
  const place = {...target, field: field.apiName}
  const columns = source.columns.map(({name}) => name)
  const seen = source.columns.find(({name}) => name === mapping.source)?.samples ?? []
  return html`
    <p class="hint">${field.apiName}, ${field.type}${field.length ? `, at most ${field.length} characters` : ''}${field.annotation?.description ? `. ${field.annotation.description}` : ''}</p>
    ${errorAt(issues, 'field') && html`<p class="wrong">${errorAt(issues, 'field')}</p>`}
    <${Select} label="Source" error=${errorAt(issues, 'mode')} value=${mapping.mode} options=${modesFor(field)} onChange=${(mode: string) => set({mode: mode as Mapping['mode']})} />
    <${Mode} mapping=${mapping} field=${field} columns=${columns} sample=${sample} seen=${seen} target=${place} issues=${issues} linked=${linked} change=${set} />
    ${mapping.mode !== 'skip' && html`<${Later} mapping=${mapping} issues=${issues} change=${set} />`}
  `
}

const usualPatch = {when: ['created', 'updated'], overwrite: 'always' as const}

/** An option to write the field after all rows, for example a lookup to a record that another row creates. */
const Later = ({mapping, issues, change}: {mapping: Mapping; issues: Issue[]; change: (changes: Partial<Mapping>) => void}) => html`
  <${Check} label="Write after all rows" hint="When all records exist" checked=${Boolean(mapping.patch)} onChange=${(on: boolean) => change({patch: on ? usualPatch : null})} />
  ${errorAt(issues, 'patch') && html`<p class="wrong">${errorAt(issues, 'patch')}</p>`}
  ${mapping.patch && html`<${Check} label="Only if the field is empty in the record" checked=${mapping.patch.overwrite === 'if-absent'} onChange=${(on: boolean) => change({patch: {...mapping.patch!, overwrite: on ? 'if-absent' : 'always'}})} />`}
`
