import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {useLoad} from '../state/load.ts'
import {client, inOrg} from '../state/session.ts'
import {t} from '../text/options.ts'
import {Button} from '../ui/button.ts'
import {Check, Select, TextField} from '../ui/field.ts'
import {count} from '../ui/format.ts'
import {Problem} from '../ui/notice.ts'
import {choicesOf, chosenOf} from './fields.ts'
import {issuesAt, sayIssue} from './flows.ts'
import type {Mapping, ValueEntry} from './import.ts'
import type {ModeProps} from './mapping-modes.ts'
import {
  addEntry,
  addSuggestions,
  type ColumnValues,
  entriesOf,
  limitShown,
  listShown,
  positionOf,
  putEntry,
  type ShownValue,
  withEntries,
} from './value-entries.ts'

/** The maximum number of values without an entry that are shown. */
const mostOpen = 200

const whenOther = [
  {value: 'keep', label: t.useTheValueAsItIs},
  {value: 'empty', label: t.treatItAsAnEmptyCell},
  {value: 'fail', label: t.failTheRow},
]

export const ValueMapFields = (props: ModeProps) => {
  const {mapping, change} = props
  const entries = entriesOf(mapping)
  return html`
    <${Check} label=${t.mapValues} hint=${t.replaceValuesOfTheFileBeforeThey} checked=${entries !== null} onChange=${(on: boolean) => change(withEntries(mapping, on ? [] : null))} />
    ${entries && html`<${ValueMapEditor} ...${props} entries=${entries} />`}
  `
}

type EditorProps = ModeProps & {entries: ValueEntry[]}

export const ValueMapEditor = (props: EditorProps) => {
  const {mapping, field, target, issues, change, entries} = props
  const isColumn = Boolean(mapping.source) && !mapping.transform && !mapping.searchExpression
  const loaded = useLoad(
    async signal => {
      if (!isColumn) return null
      const path = inOrg(`/imports/${target.importId}/sources/${target.sourceId}/columns/${encodeURIComponent(mapping.source!)}/values`)
      return (await client.get(path, {module: target.module, field: field.apiName}, signal)) as ColumnValues
    },
    [target.sourceId, target.module, field.apiName, isColumn, mapping.source],
  )
  const values = loaded.data?.values ?? []
  const {shown, isCut} = limitShown(listShown(entries, values), mostOpen)
  const proposed = addSuggestions(entries, values)
  const set = (next: ValueEntry[]) => change(withEntries(mapping, next))
  const wrong = issuesAt(issues, 'values').filter(({path}) => path.length === 0)
  return html`
    <fieldset>
      <legend>${t.values}</legend>
      ${wrong.map(issue => html`<p class="wrong">${sayIssue(issue)}</p>`)}
      <${Problem} error=${loaded.error} again=${loaded.again} title=${t.couldNotReadTheValuesOfThe} />
      ${isColumn && loaded.isLoading && html`<p class="hint">${t.readingTheValuesOfTheColumn}</p>`}
      ${proposed.length > entries.length && html`<${Button} onClick=${() => set(proposed)}>${t.useSuggestions(proposed.length - entries.length)}<//>`}
      ${shown.map(
        one =>
          html`<${OneValue} key=${one.from} ...${props} one=${one} set=${(to: string | null) => set(putEntry(entries, one.from, to))} />`,
      )}
      ${(isCut || loaded.data?.more) && html`<p class="hint">${isCut ? t.onlyFrequentWithoutEntry(count(mostOpen)) : t.onlyFrequent}</p>`}
      <${AddValue} add=${(from: string) => set(addEntry(entries, from))} />
    </fieldset>
    <${Select} label=${t.otherValues} error=${issuesAt(issues, 'otherwise').map(sayIssue).join('. ') || null} value=${mapping.otherwise ?? 'keep'} options=${whenOther} onChange=${(value: string) => change({otherwise: value as NonNullable<Mapping['otherwise']>})} />
  `
}

type OneProps = EditorProps & {one: ShownValue; set: (to: string | null) => void}

/** The option for an empty target. The option's value is a blank, because an empty value already means "No entry". */
const blank = ' '
const booleans = [
  {value: 'true', label: t.yesTrue},
  {value: 'false', label: t.noFalse},
]

const OneValue = ({field, issues, entries, one, set}: OneProps) => {
  const {from, to, suggestion} = one
  const error = issuesAt(issues, 'values', positionOf(entries, from)).map(sayIssue).join('. ') || null
  const options =
    field.type === 'boolean' ? booleans : field.type === 'picklist' || field.type === 'multiselectpicklist' ? choicesOf(field) : null
  const hint = [
    one.count === null ? t.notInTheFile : t.cellCount(one.count),
    to === '' && t.leftEmpty,
    suggestion && to === null && t.suggestion(suggestion),
  ]
  const said = hint.filter(Boolean).join(' · ')
  if (!options)
    return html`<${TextField} label=${from} hint=${said} error=${error} maxlength="300" placeholder=${t.noEntry} value=${to ?? ''} onInput=${(text: string) => set(text === '' ? null : text)} />`
  const choices = [{value: '', label: t.noEntry}, {value: blank, label: t.leaveEmpty}, ...options]
  const chosen = to === null ? '' : to === '' ? blank : chosenOf(field, to)
  const listed = choices.some(({value}) => value === chosen) ? choices : [...choices, {value: chosen, label: chosen}]
  return html`<${Select} label=${from} hint=${said} error=${error} value=${chosen} options=${listed} onChange=${(value: string) => set(value === '' ? null : value.trim())} />`
}

const AddValue = ({add}: {add: (value: string) => void}) => {
  const [value, setValue] = useState('')
  return html`
    <div class="row add-word">
      <${TextField} label=${t.anotherValue} maxlength="300" value=${value} onInput=${setValue} />
      <${Button}
        disabled=${!value.trim()}
        onClick=${() => {
          add(value.trim())
          setValue('')
        }}
      >
        ${t.add}
      <//>
    </div>
  `
}
