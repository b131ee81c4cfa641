import type {Sample} from '../../sample.ts'
import {html} from '../html.ts'
import {Check, Select} from '../ui/field.ts'
import {ExpressionField} from './expression-field.ts'
import type {Field, Module} from './fields.ts'
import {type Issue, issuesAt, sayIssue} from './flows.ts'
import type {Flow} from './import.ts'
import {errorAt} from './mapping-modes.ts'
import {skipsUnchanged} from './option-choices.ts'

type Props = {flow: Flow; fields: Field[]; sample: Sample; issues: Issue[]; change: (flow: Flow) => void}
type MatchProps = Omit<Props, 'sample'> & {usual: Module['match']}
type Match = NonNullable<Flow['match']>

/**
 * The fields by which a row finds an existing record. Without match fields, every row creates a record. A flow that states nothing has the
 * match of the module's settings, `usual`.
 */
export const MatchFields = ({flow, fields, issues, change, usual}: MatchProps) => {
  const set = (match: Match | null) => change({...flow, match: match && match.by.length > 0 ? match : null})
  const given = flow.match === undefined ? usual : flow.match
  const match: Match = {by: [], onOne: 'update', onMany: 'ask', ...given}
  const mapped = [...flow.fields.filter(({mode}) => mode !== 'skip').map(({field}) => field), ...(flow.parent ? [flow.parent.field] : [])]
  const names = [...new Set([...mapped, ...match.by])]
  const known = names.map(name => fields.find(({apiName}) => apiName === name) ?? {apiName: name, label: name, unique: null})
  const isFull = match.by.length >= 5
  const toggle = (name: string, on: boolean) => set({...match, by: on ? [...match.by, name] : match.by.filter(one => one !== name)})
  const wrong = issuesAt(issues, 'match')
  return html`
    <fieldset>
      <legend>Existing records</legend>
      <p class="hint">A row matches a record if all selected fields are equal. If you select none, every row creates a record.${flow.match === undefined && usual && ' The selection is the default of the module.'}</p>
      <div class="choices-row">
        ${known.map(({apiName, label, unique}) => html`<${Check} key=${apiName} label=${`${label}${unique ? ' (unique)' : ''}`} checked=${match.by.includes(apiName)} disabled=${isFull && !match.by.includes(apiName)} onChange=${(on: boolean) => toggle(apiName, on)} />`)}
      </div>
      ${wrong.map(issue => html`<p class="wrong">${sayIssue(issue)}</p>`)}
      ${
        match.by.length > 0 &&
        html`
        <div class="columns">
          <${Select} label="If one record matches" value=${match.onOne} options=${whenOne} onChange=${(value: string) => set({...match, onOne: value as Match['onOne']})} />
          <${Select} label="If several match" value=${match.onMany} options=${whenMany} onChange=${(value: string) => set({...match, onMany: value as Match['onMany']})} />
        </div>
        ${match.onOne === 'update' && html`<${Check} label="Skip rows that change nothing" hint="A row is skipped if its record already holds every value. Otherwise it is updated all the same" checked=${skipsUnchanged({...flow, match})} onChange=${(on: boolean) => set({...match, unchanged: on ? 'skip' : 'write'})} /><${EditedValues} match=${match} set=${set} />`}
      `
      }
    </fieldset>
  `
}

/** What happens to values that people changed in the CRM since Lading wrote them. */
const EditedValues = ({match, set}: {match: Match; set: (match: Match) => void}) => {
  const {onEdited: _, onUnknown: __, ...rest} = match
  const choose = (value: string) => set(value === '' ? rest : {...match, onEdited: value as NonNullable<Match['onEdited']>})
  return html`
    <div class="columns">
      <${Select} label="If people changed values in the CRM" hint="By default, schedules keep them and other imports overwrite them" value=${match.onEdited ?? ''} options=${whenEdited} onChange=${choose} />
      ${(match.onEdited === 'keep' || match.onEdited === 'ask') && html`<${Select} label="If Lading never wrote the record" value=${match.onUnknown ?? 'write'} options=${whenUnknown} onChange=${(value: string) => set({...match, onUnknown: value as NonNullable<Match['onUnknown']>})} />`}
    </div>
  `
}

const whenEdited = [
  {value: '', label: 'as set for the module'},
  {value: 'overwrite', label: 'overwrite them'},
  {value: 'keep', label: 'keep them'},
  {value: 'ask', label: 'ask me'},
]
const whenUnknown = [
  {value: 'write', label: 'write the file’s values'},
  {value: 'keep', label: 'keep the CRM’s values'},
]

const whenOne = [
  {value: 'update', label: 'update it'},
  {value: 'skip', label: 'skip the row'},
  {value: 'create', label: 'create another record'},
]
const whenMany = [
  {value: 'ask', label: 'ask me'},
  {value: 'first', label: 'use the oldest'},
  {value: 'skip', label: 'skip the row'},
]

/** The conditions that limit the flow to some rows of the file. */
export const RowConditions = ({flow, sample, issues, change}: Props) => html`
  <details open=${Boolean(flow.filter || flow.guard)}>
    <summary>Import only some rows</summary>
    <div class="opened">
      <${ExpressionField} label="Filter" hint="Rows for which this is not true are ignored and only counted" error=${errorAt(issues, 'filter')} value=${flow.filter ?? ''} sample=${sample} onInput=${(filter: string) => change({...flow, filter})} />
      <${ExpressionField} label="Guard" hint="Rows for which this is not true are skipped and listed in the results" error=${errorAt(issues, 'guard')} value=${flow.guard ?? ''} sample=${sample} onInput=${(guard: string) => change({...flow, guard})} />
    </div>
  </details>
`
