import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import type {PageProps} from '../pages.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {to} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
import {Button} from '../ui/button.ts'
import {Select, TextArea, TextField} from '../ui/field.ts'
import {Problem, say} from '../ui/notice.ts'
import {Shown} from '../ui/page.ts'
import {Pill} from '../ui/pill.ts'
import {Table} from '../ui/table.ts'
import {FieldDialog} from './field-dialog.ts'
import {SettingsFrame} from './frame.ts'
import {type ConfiguredField, type ConfiguredModule, linesOf, patchModule} from './registry.ts'

type ModuleInput = {module: ConfiguredModule; fields: ConfiguredField[]; registryVersion: number}
type Part = {read: ModuleInput; again: () => void}

/** One module: how records are matched, and the annotations of its fields. */
export const Module = ({params}: PageProps) => {
  const {connection, module} = params as {connection: string; module: string}
  const loaded = useLoad<ModuleInput>(
    signal => client.get(inOrg(`/config/fields/${encodeURIComponent(module)}`), {connector: connection, all: 1}, signal),
    [connection, module],
  )
  const trail = [{label: 'Modules', href: to('settings', 'modules', {connection})}]
  return html`
    <${SettingsFrame} title=${loaded.data?.module.label ?? module} trail=${trail}>
      <${Shown} of=${loaded}>
        ${(read: ModuleInput) => html`
          <${Values} key=${read.registryVersion} read=${read} again=${loaded.again} />
          <${Fields} read=${read} again=${loaded.again} />
        `}
      <//>
    <//>
  `
}

const onOne = [
  {value: 'update', label: 'Update it'},
  {value: 'skip', label: 'Skip the row'},
  {value: 'create', label: 'Create another'},
]
const onMany = [
  {value: 'ask', label: 'Ask me'},
  {value: 'first', label: 'Use the oldest'},
  {value: 'skip', label: 'Skip the row'},
]

const onEdited = [
  {value: '', label: 'As set for the organisation'},
  {value: 'overwrite', label: 'Overwrite them'},
  {value: 'keep', label: 'Keep them'},
  {value: 'ask', label: 'Ask'},
]

const Values = ({read: {module, registryVersion}, again}: Part) => {
  const [draft, setDraft] = useState({
    singular: module.singular ?? '',
    unique: module.uniqueFields.join('\n'),
    by: (module.match?.by ?? []).join('\n'),
    onOne: module.match?.onOne ?? 'update',
    onMany: module.match?.onMany ?? 'ask',
    exclusions: module.exclusions.join('\n'),
    onEdited: module.onEdited ?? '',
  })
  const set = (change: Partial<typeof draft>) => setDraft({...draft, ...change})
  const save = useDoing(async () => {
    const by = linesOf(draft.by)
    await patchModule(module, registryVersion, {
      singular: draft.singular.trim() || null,
      uniqueFields: linesOf(draft.unique),
      match: by.length ? {by, onOne: draft.onOne, onMany: draft.onMany} : null,
      exclusions: linesOf(draft.exclusions),
      onEdited: draft.onEdited || null,
    })
    say('Saved')
    again()
  })
  const submit = (event: Event) => {
    event.preventDefault()
    save.run()
  }
  return html`
    <form class="sheet" onSubmit=${submit}>
      <fieldset class="bare" disabled=${!may('admin')}>
        <div class="columns">
          <${TextField} label="Singular name" hint="Leave empty to use the name from the CRM" value=${draft.singular} onInput=${(singular: string) => set({singular})} />
          <${TextArea} label="Match fields" hint="API names of fields, one per line" value=${draft.by} onInput=${(by: string) => set({by})} />
          <${Select} label="If one record matches" value=${draft.onOne} options=${onOne} onChange=${(value: string) => set({onOne: value})} />
          <${Select} label="If several match" value=${draft.onMany} options=${onMany} onChange=${(value: string) => set({onMany: value})} />
          <${Select} label="If people changed values in the CRM" value=${draft.onEdited} options=${onEdited} onChange=${(value: string) => set({onEdited: value as typeof draft.onEdited})} />
          <${TextArea} label="Unique fields" hint="API names of fields, one per line" value=${draft.unique} onInput=${(unique: string) => set({unique})} />
          <${TextArea} label="Hidden fields" hint="API names of fields, one per line" value=${draft.exclusions} onInput=${(exclusions: string) => set({exclusions})} />
        </div>
        <${Problem} error=${save.error} again=${again} />
        ${may('admin') && html`<${Button} kind="main" type="submit" isBusy=${save.isBusy}>Save<//>`}
      </fieldset>
    </form>
  `
}

const Fields = ({read, again}: Part) => {
  const [text, setText] = useState('')
  const [edited, setEdited] = useState<ConfiguredField | null>(null)
  const wanted = text.trim().toLowerCase()
  const rows = read.fields.filter(({apiName, label}) => `${apiName} ${label ?? ''}`.toLowerCase().includes(wanted))
  return html`
    <h2>Fields</h2>
    <div class="settings-filter"><${TextField} label="Find a field" type="search" value=${text} onInput=${setText} /></div>
    <${Table} caption="Fields" columns=${columnsOf(setEdited)} rows=${rows} keyOf=${({apiName}: ConfiguredField) => apiName} empty="No matching fields." />
    ${edited && html`<${FieldDialog} module=${read.module} version=${read.registryVersion} field=${edited} again=${again} onClose=${() => setEdited(null)} />`}
  `
}

const columnsOf = (edit: (field: ConfiguredField) => void) => [
  {
    head: 'Field',
    isName: true,
    cell: ({label, apiName}: ConfiguredField) => html`${label ?? apiName}<br /><code class="quiet">${apiName}</code>`,
  },
  {head: 'Type', cell: ({type}: ConfiguredField) => type ?? '–'},
  {
    head: 'CRM properties',
    cell: ({required, unique, readOnly, removed}: ConfiguredField) => html`
      ${required && html`<${Pill} tone="info">required<//> `}${unique && html`<${Pill}>unique<//> `}${readOnly && html`<${Pill}>read only<//> `}${removed && html`<${Pill} tone="warning">deleted<//>`}
    `,
  },
  {
    head: 'Annotation',
    cell: ({annotation}: ConfiguredField) => html`
      ${annotation?.pii && html`<${Pill} tone="warning">personal<//> `}${annotation?.excluded && html`<${Pill}>hidden<//> `}${annotation?.description ?? (annotation?.aliases?.length ? `aliases: ${annotation.aliases.join(', ')}` : null)}
    `,
  },
  {
    head: '',
    label: 'Actions',
    cell: (field: ConfiguredField) =>
      may('admin') &&
      html`<${Button} kind="quiet" onClick=${() => edit(field)}>Edit<span class="unseen"> ${field.label ?? field.apiName}</span><//>`,
  },
]
