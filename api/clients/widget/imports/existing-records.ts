import {html} from '../html.ts'
import {useKept} from '../state/kept.ts'
import {may} from '../state/session.ts'
import {listWords} from '../text/language.ts'
import {t} from '../text/mapping.ts'
import {Select} from '../ui/field.ts'
import {type Field, isFillable, type Module, nameOfModule} from './fields.ts'
import type {Flow, Source} from './import.ts'
import {recommendMatch} from './recommend-match.ts'

type Match = NonNullable<Flow['match']>
type Way = 'update' | 'skip' | 'add' | 'delete'
type Props = {importId: string; flow: Flow; fields: Field[]; source: Source; module: Module | undefined; change: (flow: Flow) => void}

/** The name of the radio buttons of a flow. */
export const choiceName = (flow: string): string => `existing ${flow}`

/** A mandatory choice: update existing records, add only new ones, or always add. Builders can also choose to delete matching records. */
export const ExistingRecords = ({importId, flow: given, fields, source, module, change}: Props) => {
  const flow = given
  const [beforeDelete, setBeforeDelete] = useKept<Flow | null>(`before delete ${importId} ${flow.id}`, null)
  const mapped = flow.fields.filter(({mode}) => mode === 'column' || mode === 'expression').map(({field}) => field)
  const own = fields.filter(field => mapped.includes(field.apiName) && isFillable(field))
  const recommended = recommendMatch(flow, source, own)
  const match = flow.match === undefined ? (module?.match ?? undefined) : flow.match
  const by = match?.by ?? [recommended?.apiName ?? own[0]?.apiName].filter(name => name !== undefined)
  const chosen: Way | null =
    flow.action === 'delete'
      ? 'delete'
      : match === undefined
        ? null
        : match === null
          ? 'add'
          : match.onOne === 'skip'
            ? 'skip'
            : match.onOne === 'update'
              ? 'update'
              : 'add'
  const choose = (way: Way) => {
    if (way === 'delete') {
      setBeforeDelete(given)
      return change(deleting(given, by))
    }
    const flow = withoutDelete(given, beforeDelete)
    if (way === 'add') return change({...flow, match: null})
    const onMany = way === 'skip' ? 'skip' : 'ask'
    change({...flow, match: {...((flow.match ?? match) as Match | null), by, onOne: way, onMany}})
  }
  const label = listWords(by.map(name => fields.find(({apiName}) => apiName === name)?.label ?? name))
  const option = (way: Way, title: string, hint: string) => html`
    <label class=${`choice ${chosen === way ? 'chosen' : ''}`}>
      <input type="radio" name=${choiceName(flow.id)} value=${way} checked=${chosen === way} required disabled=${way !== 'add' && by.length === 0} onChange=${() => choose(way)} />
      <span><strong>${title}</strong>${way === 'update' && recommended && html` <span class="quiet">${t.recommended}</span>`}<span class="hint">${hint}</span></span>
    </label>
  `
  return html`
    <fieldset class="existing-records">
      <legend>${module ? t.existing(nameOfModule(module)) : t.existingRecords}</legend>
      <div class="choices-row">
        ${option('update', t.updateExistingAddNew, by.length > 0 ? t.rowsWithTheSameUpdateTheRecord(label) : t.mapAFieldToMatchByFirst)}
        ${option('skip', t.addNewOnly, by.length > 0 ? t.rowsWhoseExistsAreSkipped(label) : t.mapAFieldToMatchByFirst)}
        ${option('add', t.alwaysAdd, t.everyRowCreatesARecordEvenIf)}
      </div>
      ${(may('builder') || chosen === 'delete') && html`<details open=${chosen === 'delete'}><summary>${t.deleteInsteadOfImport}</summary><div class="choices-row">${option('delete', t.deleteMatchingRecords, by.length > 0 ? t.eachRecordWhoseIsInTheFile(label) : t.mapAFieldToMatchByFirst)}</div></details>`}
      ${(chosen === 'update' || chosen === 'skip') && by.length === 1 && own.length > 1 && html`<div class="match-by"><${Select} label=${t.matchedBy} value=${by[0]} options=${matchOptions(own, recommended, by[0]!)} onChange=${(name: string) => change({...flow, match: {...(match as Match), by: [name]}})} /></div>`}
    </fieldset>
  `
}

/** Returns a delete flow with the settings of the given flow that a delete flow supports. */
const deleting = ({id, sourceId, module, filter, guard, fields, automations}: Flow, by: string[]): Flow => ({
  id,
  sourceId,
  module,
  action: 'delete',
  match: {by, onOne: 'update', onMany: 'skip'},
  fields: fields.filter(({field}) => by.includes(field)).map(({patch: _, ...mapping}) => mapping),
  ...(filter != null && {filter}),
  ...(guard != null && {guard}),
  ...(automations && {automations}),
})

/** Returns a flow that no longer deletes. `before`: the flow before the person chose to delete; its settings and mappings return. */
const withoutDelete = ({action, ...flow}: Flow, before: Flow | null): Flow => {
  if (action !== 'delete' || before?.module !== flow.module) return flow
  const {match: _, ...kept} = flow
  const former = before.fields.map(one => ({...one, ...flow.fields.find(({field}) => field === one.field)}))
  const added = flow.fields.filter(({field}) => !before.fields.some(one => one.field === field))
  return {...before, ...kept, fields: [...former, ...added]}
}

const matchOptions = (own: Field[], recommended: Field | null, chosen: string) => {
  const listed = own.map(field => ({
    value: field.apiName,
    label: `${field.label}${field.unique ? ` ${t.unique}` : field === recommended ? ` ${t.recommended}` : ''}`,
  }))
  return listed.some(({value}) => value === chosen) ? listed : [...listed, {value: chosen, label: chosen}]
}
