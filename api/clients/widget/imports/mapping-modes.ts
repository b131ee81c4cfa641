import type {Sample} from '../../sample.ts'
import {html, type Markup} from '../html.ts'
import {Check, Select, TextField} from '../ui/field.ts'
import {ExpressionField, type Target} from './expression-field.ts'
import {choicesOf, chosenOf, type Field, isLink, isPicklist, isUserLink} from './fields.ts'
import {type Issue, issuesAt, sayIssue} from './flows.ts'
import type {Mapping} from './import.ts'
import {PicklistFields} from './picklist-fields.ts'
import {ValueMapFields} from './value-map-fields.ts'

export type ModeProps = {
  mapping: Mapping
  field: Field
  columns: string[]
  sample: Sample
  /** Distinct sample values of the column. */
  seen: string[]
  target: Target
  issues: Issue[]
  /** Fields of the module that a lookup refers to. */
  linked: Field[]
  change: (changes: Partial<Mapping>) => void
}

export const errorAt = (issues: Issue[], ...place: (string | number)[]): Markup => {
  const found = issuesAt(issues, ...place)
  return found.length > 0 ? found.map(sayIssue).join('. ') : null
}

const columnOptions = (columns: string[], none: string) => [{value: '', label: none}, ...columns.map(name => ({value: name, label: name}))]

const SourceField = ({
  mapping,
  columns,
  issues,
  change,
  none = 'Choose a column …',
  label = 'Column',
}: ModeProps & {none?: string; label?: string}) => html`
  <${Select} label=${label} error=${errorAt(issues, 'source')} value=${mapping.source ?? ''} options=${columnOptions(withOwn(columns, mapping.source), none)} onChange=${(source: string) => change({source: source || null})} />
`
const withOwn = (columns: string[], own: string | null | undefined) => (own && !columns.includes(own) ? [...columns, own] : columns)

const FromColumn = (props: ModeProps) => {
  const {mapping, sample, target, issues, change} = props
  return html`
    <${SourceField} ...${props} />
    <details open=${Boolean(mapping.transform)}>
      <summary>Change the value with an expression</summary>
      <div class="opened">
        <${ExpressionField} label="Expression" error=${errorAt(issues, 'transform')} value=${mapping.transform ?? ''} source=${mapping.source} sample=${sample} target=${target} onInput=${(transform: string) => change({transform: transform || null})} />
      </div>
    </details>
    <${Conversion} ...${props} />
  `
}

const Static = (props: ModeProps) => {
  const {mapping, field, issues, change} = props
  const value = mapping.staticValue ?? ''
  const options = field.type === 'boolean' ? booleans : field.type === 'picklist' ? choicesOf(field) : null
  const set = (staticValue: string) => change({staticValue})
  return options
    ? html`<${Select} label="Value" error=${errorAt(issues, 'staticValue')} value=${chosenOf(field, value)} options=${[{value: '', label: 'Choose a value …'}, ...options]} onChange=${set} />`
    : html`<${TextField} label="Value" hint="Written to every row" error=${errorAt(issues, 'staticValue')} value=${value} onInput=${set} />`
}
const booleans = [
  {value: 'true', label: 'Yes (true)'},
  {value: 'false', label: 'No (false)'},
]

const Expression = (props: ModeProps) => {
  const {mapping, sample, target, issues, change} = props
  return html`
    <${ExpressionField} label="Expression" error=${errorAt(issues, 'transform')} value=${mapping.transform ?? ''} source=${mapping.source} sample=${sample} target=${target} onInput=${(transform: string) => change({transform})} />
    <${Conversion} ...${props} />
  `
}

const Search = (props: ModeProps) => {
  const {mapping, field, linked, issues, change} = props
  const isUser = isUserLink(field)
  const fields = isUser ? userFields : linked.map(({apiName, label}) => ({value: apiName, label}))
  const isMany = (value: string) => change({onMany: value as NonNullable<Mapping['onMany']>})
  return html`
    <div class="columns">
      <${SourceField} ...${props} label="Search for the value of" />
      <${Select} label=${`In field of ${isUser ? 'users' : (field.lookup?.module ?? 'the module')}`} error=${errorAt(issues, 'searchField')} value=${mapping.searchField ?? ''} options=${[{value: '', label: isUser ? 'E-mail address' : 'Name of the record'}, ...fields]} onChange=${(searchField: string) => change({searchField: searchField || null})} />
      ${!isUser && html`<${Select} label="Method" error=${errorAt(issues, 'searchMethod')} value=${mapping.searchMethod ?? 'equals'} options=${methods} onChange=${(value: string) => change({searchMethod: value === 'word' ? 'word' : null})} />`}
      <${Select} label="If none is found" value=${mapping.onNone ?? 'leave'} options=${whenNone} onChange=${(value: string) => change({onNone: value as NonNullable<Mapping['onNone']>})} />
      <${Select} label="If several are found" error=${errorAt(issues, 'onMany')} value=${mapping.onMany ?? (isUser ? 'leave' : 'ask')} options=${isUser ? whenMany.filter(({value}) => value !== 'ask') : whenMany} onChange=${isMany} />
    </div>
    <${SearchExpression} ...${props} />
    <${ValueMapFields} ...${props} />
    <${EmptyCell} mapping=${mapping} change=${change} />
  `
}
const userFields = [{value: 'full_name', label: 'Full name'}]
const methods = [
  {value: 'equals', label: 'is equal'},
  {value: 'word', label: 'contains the word'},
]
const whenNone = [
  {value: 'leave', label: 'leave the lookup empty'},
  {value: 'fail', label: 'fail the row'},
  {value: 'skip', label: 'skip the row'},
]
const whenMany = [
  {value: 'ask', label: 'ask me'},
  {value: 'leave', label: 'leave the lookup empty'},
  {value: 'first', label: 'use the oldest'},
  {value: 'skip', label: 'skip the row'},
]

const SearchExpression = ({mapping, sample, issues, change}: ModeProps) => html`
  <details open=${Boolean(mapping.searchExpression)}>
    <summary>Search with an expression</summary>
    <div class="opened">
      <${ExpressionField} label="Expression" error=${errorAt(issues, 'searchExpression')} value=${mapping.searchExpression ?? ''} source=${mapping.source} sample=${sample} onInput=${(text: string) => change({searchExpression: text || null})} />
    </div>
  </details>
`

/** Options that convert text to the type of the field. */
const Conversion = (props: ModeProps) => {
  const {mapping, field, issues, change} = props
  const isDate = field.type === 'date' || field.type === 'datetime'
  return html`
    ${
      isDate &&
      html`
      <div class="columns">
        <${TextField} label="Date format" hint="For example dd/MM/yyyy. Leave empty for ISO 8601 or the order chosen for the column" error=${errorAt(issues, 'format')} maxlength="60" value=${mapping.format ?? ''} onInput=${(format: string) => change({format: format || null})} />
        ${field.type === 'datetime' && html`<${TextField} label="Time zone" hint="For times without an offset, for example Europe/Berlin" error=${errorAt(issues, 'zone')} maxlength="100" value=${mapping.zone ?? ''} onInput=${(zone: string) => change({zone: zone || null})} />`}
      </div>
    `
    }
    ${isPicklist(field) ? html`<${PicklistFields} ...${props} />` : html`<${ValueMapFields} ...${props} />`}
    <${EmptyCell} mapping=${mapping} change=${change} />
  `
}

const EmptyCell = ({mapping, change}: Pick<ModeProps, 'mapping' | 'change'>) => html`
  <${Check} label="Empty cells clear the field" hint="Otherwise the field stays unchanged. A cell with \\N always clears it" checked=${mapping.empty === 'clear'} onChange=${(on: boolean) => change({empty: on ? 'clear' : 'leave'})} />
`

export const modeFields = {column: FromColumn, static: Static, expression: Expression, search: Search, skip: () => null}

const allModes = [
  {value: 'column', label: 'Column'},
  {value: 'static', label: 'Fixed value'},
  {value: 'expression', label: 'Expression'},
  {value: 'search', label: 'Search for a record'},
  {value: 'skip', label: 'Do not write'},
]
export const modesFor = (field: Field) => allModes.filter(({value}) => value !== 'search' || isLink(field))
