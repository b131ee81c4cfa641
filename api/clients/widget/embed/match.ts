import {html} from '../html.ts'
import {ImportFrame} from '../imports/frame.ts'
import type {Flow, Imported, Mapping} from '../imports/import.ts'
import type {LoadedImport} from '../imports/known.ts'
import {MatchFiles} from '../imports/match-files.ts'
import {SourceCard} from '../imports/source-card.ts'
import type {PageProps} from '../pages.ts'
import {embed} from '../state/embed.ts'
import {useKept} from '../state/kept.ts'
import {useDoing} from '../state/load.ts'
import {go, to} from '../state/place.ts'
import {client, inOrg} from '../state/session.ts'
import {t} from '../text/embed.ts'
import {Button} from '../ui/button.ts'
import {Select} from '../ui/field.ts'
import {sayName} from '../ui/labels.ts'
import {Problem} from '../ui/notice.ts'

export const EmbedMatch = ({params: {id = ''}}: PageProps) => html`
  <${ImportFrame} id=${id} step="match" lead=${t.matchLead}>
    ${(loaded: LoadedImport) => html`<${MatchOf} key=${id} known=${loaded} />`}
  <//>
`

const MatchOf = ({known}: {known: LoadedImport}) => {
  const {import: found, again} = known
  const isWaiting = found.sources.length === 0 || found.slots.some(({sourceId}) => sourceId === null)
  return html`
    ${(isWaiting || found.slots.length > 1) && html`<${MatchFiles} known=${known} />`}
    ${found.sources.map(source => html`<${SourceCard} key=${source.id} found=${found} source=${source} again=${again} />`)}
    ${!isWaiting && html`<${Columns} key=${found.sources.map(({id}) => id).join(' ')} found=${found} />`}
  `
}

/** The chosen column by flow and field. Null: the field is not imported. An empty text: not chosen yet. */
type Choices = Record<string, Record<string, string | null>>

const takesColumn = ({mode, source}: Mapping) => (mode === 'column' || mode === 'search') && source != null

const Columns = ({found}: {found: Imported}) => {
  const [kept, setKept] = useKept<Choices>(`columns ${found.id}`, {})
  const flows = found.flows.map(flow => ({flow, columns: columnsOf(found, flow), fields: fieldsOf(flow, kept[flow.id] ?? {})}))
  const choices: Choices = Object.fromEntries(
    flows.map(({flow, columns, fields}) => [flow.id, Object.fromEntries(fields.map(field => [field, choose(flow, columns, field, kept)]))]),
  )
  const isOpen = Object.values(choices).some(fields => Object.values(fields).includes(''))
  const save = useDoing(async () => {
    const isSaved =
      found.state === 'ready' && flows.every(({flow, fields}) => fields.every(field => choices[flow.id]![field] === sourceOf(flow, field)))
    if (!isSaved) await client.put(inOrg(`/imports/${found.id}/columns`), choices)
    go(to('imports', found.id, 'review'))
  })
  const set = (flow: string, field: string, column: string) =>
    setKept({...choices, [flow]: {...choices[flow], [field]: column === skipped ? null : column}})
  return html`
    <form class="sheet" aria-label=${t.columns} onSubmit=${(event: Event) => {
      event.preventDefault()
      save.run()
    }}>
      ${flows.map(
        ({flow, columns, fields}) => html`
          <fieldset class="bare" key=${flow.id}>
            <h2>${labelOf(flow.module)}</h2>
            <div class="embed-columns">
              ${fields.map(
                field => html`
                  <${Select}
                    key=${field}
                    label=${labelOf(flow.module, field)}
                    value=${choices[flow.id]![field] ?? skipped}
                    error=${choices[flow.id]![field] === '' ? t.chooseColumn : undefined}
                    options=${[
                      ...(choices[flow.id]![field] === '' ? [{value: '', label: t.chooseColumn, disabled: true}] : []),
                      ...columns.map(name => ({value: name, label: name})),
                      ...(flow.match?.by.includes(field) ? [] : [{value: skipped, label: t.doNotImport}]),
                    ]}
                    onChange=${(column: string) => set(flow.id, field, column)}
                  />`,
              )}
            </div>
          </fieldset>`,
      )}
      <${Problem} error=${save.error} title=${t.doesNotFit} />
      <div class="actions"><${Button} kind="main" type="submit" isBusy=${save.isBusy} disabled=${isOpen || found.state === 'running'}>${t.review}<//></div>
    </form>
  `
}

/** The value of the option "Do not import". No column has this name, because column names are not blank. */
const skipped = ' '

const columnsOf = ({sources}: Imported, {sourceId}: Flow): string[] =>
  sources.find(({id}) => id === sourceId)?.columns.map(({name}) => name) ?? []

/** Returns the fields that a column of the file fills, and the fields for which the person chose a column or left it out. */
const fieldsOf = ({fields}: Flow, kept: Record<string, string | null>): string[] =>
  fields.filter(mapping => takesColumn(mapping) || mapping.field in kept).map(({field}) => field)

const sourceOf = ({fields}: Flow, field: string): string | null => fields.find(mapping => mapping.field === field)?.source ?? null

/**
 * Returns the column that the person chose, or null if the person left the field out. Without a choice, returns a column named like the column
 * in the template, the field or its label. Equal names are preferred to names that differ in case, blanks or punctuation. Returns an empty text
 * if there is no such column.
 */
const choose = (flow: Flow, columns: string[], field: string, kept: Choices): string | null => {
  const own = kept[flow.id]?.[field]
  if (own === null || (own && columns.includes(own))) return own
  const wanted = [sourceOf(flow, field), field, labelOf(flow.module, field)].filter(name => name !== null)
  return (
    wanted.flatMap(name => columns.find(column => column === name) ?? columns.find(column => plain(column) === plain(name)) ?? [])[0] ?? ''
  )
}

const plain = (name: string) => name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '')

const labelOf = (module: string, field?: string): string => {
  const known = embed.value?.modules[module]
  return field === undefined ? (known?.label ?? sayName(module)) : (known?.fields[field] ?? sayName(field))
}
