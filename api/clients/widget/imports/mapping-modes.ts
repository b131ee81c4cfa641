import type {Sample} from '../../sample.ts'
import {html, type Markup} from '../html.ts'
import {t} from '../text/options.ts'
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
  none = t.chooseAColumn,
  label = t.columnHead,
}: ModeProps & {none?: string; label?: string}) => html`
  <${Select} label=${label} error=${errorAt(issues, 'source')} value=${mapping.source ?? ''} options=${columnOptions(withOwn(columns, mapping.source), none)} onChange=${(source: string) => change({source: source || null})} />
`
const withOwn = (columns: string[], own: string | null | undefined) => (own && !columns.includes(own) ? [...columns, own] : columns)

const FromColumn = (props: ModeProps) => {
  const {mapping, sample, target, issues, change} = props
  return html`
    <${SourceField} ...${props} />
    <details open=${Boolean(mapping.transform)}>
      <summary>${t.changeTheValueWithAnExpression}</summary>
      <div class="opened">
        <${ExpressionField} label=${t.expression} error=${errorAt(issues, 'transform')} value=${mapping.transform ?? ''} source=${mapping.source} sample=${sample} target=${target} onInput=${(transform: string) => change({transform: transform || null})} />
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
    ? html`<${Select} label=${t.valueLabel} error=${errorAt(issues, 'staticValue')} value=${chosenOf(field, value)} options=${[{value: '', label: t.chooseAValue}, ...options]} onChange=${set} />`
    : html`<${TextField} label=${t.valueLabel} hint=${t.writtenToEveryRow} error=${errorAt(issues, 'staticValue')} value=${value} onInput=${set} />`
}
const booleans = [
  {value: 'true', label: t.yesTrue},
  {value: 'false', label: t.noFalse},
]

const Expression = (props: ModeProps) => {
  const {mapping, sample, target, issues, change} = props
  return html`
    <${ExpressionField} label=${t.expression} error=${errorAt(issues, 'transform')} value=${mapping.transform ?? ''} source=${mapping.source} sample=${sample} target=${target} onInput=${(transform: string) => change({transform})} />
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
      <${SourceField} ...${props} label=${t.searchForTheValueOf} />
      <${Select} label=${isUser ? t.inFieldOfUsers : t.inFieldOf(field.lookup?.module ?? '')} error=${errorAt(issues, 'searchField')} value=${mapping.searchField ?? ''} options=${[{value: '', label: isUser ? t.eMailAddress : t.nameOfTheRecord}, ...fields]} onChange=${(searchField: string) => change({searchField: searchField || null})} />
      ${!isUser && html`<${Select} label=${t.method} error=${errorAt(issues, 'searchMethod')} value=${mapping.searchMethod ?? 'equals'} options=${methods} onChange=${(value: string) => change({searchMethod: value === 'word' ? 'word' : null})} />`}
      <${Select} label=${t.ifNoneIsFound} value=${mapping.onNone ?? 'leave'} options=${whenNone} onChange=${(value: string) => change({onNone: value as NonNullable<Mapping['onNone']>})} />
      <${Select} label=${t.ifSeveralAreFound} error=${errorAt(issues, 'onMany')} value=${mapping.onMany ?? (isUser ? 'leave' : 'ask')} options=${isUser ? whenMany.filter(({value}) => value !== 'ask') : whenMany} onChange=${isMany} />
    </div>
    <${SearchExpression} ...${props} />
    <${ValueMapFields} ...${props} />
    <${EmptyCell} mapping=${mapping} change=${change} />
  `
}
const userFields = [{value: 'full_name', label: t.fullName}]
const methods = [
  {value: 'equals', label: t.isEqual},
  {value: 'word', label: t.containsTheWord},
]
const whenNone = [
  {value: 'leave', label: t.leaveTheLookupEmpty},
  {value: 'fail', label: t.failTheRow},
  {value: 'skip', label: t.skipTheRow},
]
const whenMany = [
  {value: 'ask', label: t.askMe},
  {value: 'leave', label: t.leaveTheLookupEmpty},
  {value: 'first', label: t.useTheOldest},
  {value: 'skip', label: t.skipTheRow},
]

const SearchExpression = ({mapping, sample, issues, change}: ModeProps) => html`
  <details open=${Boolean(mapping.searchExpression)}>
    <summary>${t.searchWithAnExpression}</summary>
    <div class="opened">
      <${ExpressionField} label=${t.expression} error=${errorAt(issues, 'searchExpression')} value=${mapping.searchExpression ?? ''} source=${mapping.source} sample=${sample} onInput=${(text: string) => change({searchExpression: text || null})} />
    </div>
  </details>
`

const Conversion = (props: ModeProps) => {
  const {mapping, field, issues, change} = props
  const isDate = field.type === 'date' || field.type === 'datetime'
  return html`
    ${
      isDate &&
      html`
      <div class="columns">
        <${TextField} label=${t.dateFormat} hint=${t.forExampleDdMmYyyyLeaveEmpty} error=${errorAt(issues, 'format')} maxlength="60" value=${mapping.format ?? ''} onInput=${(format: string) => change({format: format || null})} />
        ${field.type === 'datetime' && html`<${TextField} label=${t.timeZone} hint=${t.forTimesWithoutAnOffsetForExample} error=${errorAt(issues, 'zone')} maxlength="100" value=${mapping.zone ?? ''} onInput=${(zone: string) => change({zone: zone || null})} />`}
      </div>
    `
    }
    ${isPicklist(field) ? html`<${PicklistFields} ...${props} />` : html`<${ValueMapFields} ...${props} />`}
    <${EmptyCell} mapping=${mapping} change=${change} />
  `
}

const EmptyCell = ({mapping, change}: Pick<ModeProps, 'mapping' | 'change'>) => html`
  <${Check} label=${t.emptyCellsClearTheField} hint=${t.otherwiseTheFieldStaysUnchangedA} checked=${mapping.empty === 'clear'} onChange=${(on: boolean) => change({empty: on ? 'clear' : 'leave'})} />
`

export const modeFields = {column: FromColumn, static: Static, expression: Expression, search: Search, skip: () => null}

const allModes = [
  {value: 'column', label: t.columnHead},
  {value: 'static', label: t.fixedValue},
  {value: 'expression', label: t.expression},
  {value: 'search', label: t.searchForARecord},
  {value: 'skip', label: t.doNotWrite},
]
export const modesFor = (field: Field) => allModes.filter(({value}) => value !== 'search' || isLink(field))
