import type {Sample} from '../../sample.ts'
import {html} from '../html.ts'
import {t} from '../text/options.ts'
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
 * The choice of the fields by which a row finds an existing record. Without match fields, every row creates a record. `usual` is the match in the
 * module's settings, which applies if the flow has no `match`.
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
      <legend>${t.existingRecords}</legend>
      <p class="hint">${t.aRowMatchesARecordIfAll} ${flow.match === undefined && usual && t.theSelectionIsTheDefaultOfThe}</p>
      <div class="choices-row">
        ${known.map(({apiName, label, unique}) => html`<${Check} key=${apiName} label=${`${label}${unique ? ` ${t.unique}` : ''}`} checked=${match.by.includes(apiName)} disabled=${isFull && !match.by.includes(apiName)} onChange=${(on: boolean) => toggle(apiName, on)} />`)}
      </div>
      ${wrong.map(issue => html`<p class="wrong">${sayIssue(issue)}</p>`)}
      ${
        match.by.length > 0 &&
        html`
        <div class="columns">
          <${Select} label=${t.ifOneRecordMatches} value=${match.onOne} options=${whenOne} onChange=${(value: string) => set({...match, onOne: value as Match['onOne']})} />
          <${Select} label=${t.ifSeveralMatch} value=${match.onMany} options=${whenMany} onChange=${(value: string) => set({...match, onMany: value as Match['onMany']})} />
        </div>
        ${match.onOne === 'update' && html`<${Check} label=${t.skipRowsThatChangeNothing} hint=${t.aRowIsSkippedIfItsRecord} checked=${skipsUnchanged({...flow, match})} onChange=${(on: boolean) => set({...match, unchanged: on ? 'skip' : 'write'})} /><${EditedValues} match=${match} set=${set} />`}
      `
      }
    </fieldset>
  `
}

const EditedValues = ({match, set}: {match: Match; set: (match: Match) => void}) => {
  const {onEdited: _, onUnknown: __, ...rest} = match
  const choose = (value: string) => set(value === '' ? rest : {...match, onEdited: value as NonNullable<Match['onEdited']>})
  return html`
    <div class="columns">
      <${Select} label=${t.ifPeopleChangedValuesInTheCrm} hint=${t.byDefaultSchedulesKeepThemAndOther} value=${match.onEdited ?? ''} options=${whenEdited} onChange=${choose} />
      ${(match.onEdited === 'keep' || match.onEdited === 'ask') && html`<${Select} label=${t.ifLadingNeverWroteTheRecord} value=${match.onUnknown ?? 'write'} options=${whenUnknown} onChange=${(value: string) => set({...match, onUnknown: value as NonNullable<Match['onUnknown']>})} />`}
    </div>
  `
}

const whenEdited = [
  {value: '', label: t.asSetForTheModule},
  {value: 'overwrite', label: t.overwriteThem},
  {value: 'keep', label: t.keepThem},
  {value: 'ask', label: t.askMe},
]
const whenUnknown = [
  {value: 'write', label: t.writeTheFilesValues},
  {value: 'keep', label: t.keepTheCrmsValues},
]

const whenOne = [
  {value: 'update', label: t.updateIt},
  {value: 'skip', label: t.skipTheRow},
  {value: 'create', label: t.createAnotherRecord},
]
const whenMany = [
  {value: 'ask', label: t.askMe},
  {value: 'first', label: t.useTheOldest},
  {value: 'skip', label: t.skipTheRow},
]

export const RowConditions = ({flow, sample, issues, change}: Props) => html`
  <details open=${Boolean(flow.filter || flow.guard)}>
    <summary>${t.importOnlySomeRows}</summary>
    <div class="opened">
      <${ExpressionField} label=${t.filter} hint=${t.rowsForWhichThisIsNotTrue} error=${errorAt(issues, 'filter')} value=${flow.filter ?? ''} sample=${sample} onInput=${(filter: string) => change({...flow, filter})} />
      <${ExpressionField} label=${t.guard} hint=${t.guardHint} error=${errorAt(issues, 'guard')} value=${flow.guard ?? ''} sample=${sample} onInput=${(guard: string) => change({...flow, guard})} />
    </div>
  </details>
`
