import {html} from '../html.ts'
import {Check, Select} from '../ui/field.ts'
import {ExpressionField} from './expression-field.ts'
import type {Field} from './fields.ts'
import {type Issue, issuesAt, sayIssue} from './flows.ts'
import type {Flow} from './import.ts'
import {errorAt} from './mapping-modes.ts'
import type {Sample} from './sample.ts'

type Props = {flow: Flow; fields: Field[]; sample: Sample; issues: Issue[]; change: (flow: Flow) => void}
type Match = NonNullable<Flow['match']>

/** How a row finds the record that is there already; without it every row makes one. */
export const MatchFields = ({flow, fields, issues, change}: Omit<Props, 'sample'>) => {
  const {match: _, ...rest} = flow
  const set = (match: Match | null) => change(match && match.by.length > 0 ? {...flow, match} : rest)
  const match: Match = flow.match ?? {by: [], onOne: 'update', onMany: 'ask'}
  const names = [...flow.fields.filter(({mode}) => mode !== 'skip').map(({field}) => field), ...(flow.parent ? [flow.parent.field] : [])]
  const known = names.map(name => fields.find(({apiName}) => apiName === name) ?? {apiName: name, label: name, unique: null})
  const isFull = match.by.length >= 5
  const toggle = (name: string, on: boolean) => set({...match, by: on ? [...match.by, name] : match.by.filter(one => one !== name)})
  const wrong = issuesAt(issues, 'match')
  return html`
    <fieldset>
      <legend>Records that are there already</legend>
      <p class="hint">A row and a record belong together when they agree in all of the fields that are ticked. None ticked: every row makes a record.</p>
      <div class="choices-row">
        ${known.map(({apiName, label, unique}) => html`<${Check} key=${apiName} label=${`${label}${unique ? ' (unique)' : ''}`} checked=${match.by.includes(apiName)} disabled=${isFull && !match.by.includes(apiName)} onChange=${(on: boolean) => toggle(apiName, on)} />`)}
      </div>
      ${wrong.map(issue => html`<p class="wrong">${sayIssue(issue)}</p>`)}
      ${
        match.by.length > 0 &&
        html`
        <div class="columns">
          <${Select} label="One record is found" value=${match.onOne} options=${whenOne} onChange=${(value: string) => set({...match, onOne: value as Match['onOne']})} />
          <${Select} label="Several are found" value=${match.onMany} options=${whenMany} onChange=${(value: string) => set({...match, onMany: value as Match['onMany']})} />
        </div>
      `
      }
    </fieldset>
  `
}

const whenOne = [
  {value: 'update', label: 'update it'},
  {value: 'skip', label: 'skip the row'},
  {value: 'create', label: 'make another record'},
]
const whenMany = [
  {value: 'ask', label: 'hold the row back and ask'},
  {value: 'first', label: 'take the oldest'},
  {value: 'skip', label: 'skip the row'},
]

/** Which rows of the file the flow is about. */
export const RowConditions = ({flow, sample, issues, change}: Props) => html`
  <details open=${Boolean(flow.filter || flow.guard)}>
    <summary>Only some of the rows</summary>
    <div class="opened">
      <${ExpressionField} label="Filter" hint="A row for which it is not true is no row of this flow: it is only counted" error=${errorAt(issues, 'filter')} value=${flow.filter ?? ''} sample=${sample} onInput=${(filter: string) => change({...flow, filter})} />
      <${ExpressionField} label="Guard" hint="A row for which it is not true is skipped, and the results say so" error=${errorAt(issues, 'guard')} value=${flow.guard ?? ''} sample=${sample} onInput=${(guard: string) => change({...flow, guard})} />
    </div>
  </details>
`
