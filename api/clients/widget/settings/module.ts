import {useState} from 'preact/hooks'
import {runDiscovery} from '../connections/discovery.ts'
import {html} from '../html.ts'
import type {PageProps} from '../pages.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {to} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
import {Button} from '../ui/button.ts'
import {SaveActions, useDraft} from '../ui/draft.ts'
import {Select, TextField} from '../ui/field.ts'
import {Notice, Problem, say} from '../ui/notice.ts'
import {Shown} from '../ui/page.ts'
import {Pill} from '../ui/pill.ts'
import {Table} from '../ui/table.ts'
import {FieldDialog} from './field-dialog.ts'
import {FieldPicker} from './field-picker.ts'
import {SettingsFrame} from './frame.ts'
import {type ConfiguredField, type ConfiguredModule, idempotencyOptions, patchModule} from './registry.ts'

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
        ${(read: ModuleInput) =>
          read.fields.some(({removed}) => !removed)
            ? html`
                <${Values} key=${read.registryVersion} read=${read} again=${loaded.again} />
                <${Fields} read=${read} again=${loaded.again} />
              `
            : html`<${NeedsDiscovery} connection=${connection} onRead=${loaded.again} />`}
      <//>
    <//>
  `
}

/** Offers to read the CRM, because without its fields there is nothing to choose from. */
const NeedsDiscovery = ({connection, onRead}: {connection: string; onRead: () => void}) => {
  const read = useDoing(async () => {
    await runDiscovery(connection)
    onRead()
  })
  const actions = may('admin') && html`<${Button} isBusy=${read.isBusy} onClick=${() => read.run()}>Read the fields now<//>`
  return html`
    <${Notice} title="The fields of this module are not known yet" actions=${actions}>
      Reading them from the CRM takes about a minute. ${!may('admin') && 'Ask an admin to do it.'}
    <//>
    <${Problem} error=${read.error} again=${() => read.run()} />
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

const idempotencyHint =
  'Imports fill this field, so that a record whose creation got no answer is found again. It must be unique, hold 26 characters, and be in no mapping.'

const savedValues = (module: ConfiguredModule) => ({
  singular: module.singular ?? '',
  unique: module.uniqueFields,
  by: module.match?.by ?? [],
  onOne: module.match?.onOne ?? 'update',
  onMany: module.match?.onMany ?? 'ask',
  exclusions: module.exclusions,
  onEdited: module.onEdited ?? '',
  idempotencyField: module.idempotencyField ?? '',
})

const Values = ({read: {module, fields, registryVersion}, again}: Part) => {
  const form = useDraft(savedValues(module))
  const {draft, set} = form
  const save = useDoing(async () => {
    const {by, onOne, onMany, unique: uniqueFields, exclusions} = draft
    await patchModule(module, registryVersion, {
      ...{uniqueFields, exclusions},
      singular: draft.singular.trim() || null,
      match: by.length ? {by, onOne, onMany} : null,
      onEdited: draft.onEdited || null,
      idempotencyField: draft.idempotencyField || null,
    })
    say('Module saved')
    again()
  })
  const submit = (event: Event) => {
    event.preventDefault()
    save.run()
  }
  return html`
    <form class="sheet" onSubmit=${submit}>
      ${!may('admin') && html`<${Notice}>Only admins can change these settings.<//>`}
      <fieldset class="bare" disabled=${!may('admin')}>
        <div class="columns">
          <div>
            <${FieldPicker} label="Match fields" hint="Imports find an existing record by these fields" fields=${fields} chosen=${draft.by} set=${(by: string[]) => set({by})} />
            <${Select} label="If one record matches" value=${draft.onOne} options=${onOne} onChange=${(value: string) => set({onOne: value})} />
            <${Select} label="If several match" value=${draft.onMany} options=${onMany} onChange=${(value: string) => set({onMany: value})} />
            <${Select} label="If people changed values in the CRM" value=${draft.onEdited} options=${onEdited} onChange=${(value: string) => set({onEdited: value as typeof draft.onEdited})} />
          </div>
          <div>
            <${FieldPicker} label="Unique fields" hint="Their values tell records apart" fields=${fields} chosen=${draft.unique} set=${(unique: string[]) => set({unique})} />
            <${FieldPicker} label="Hidden fields" hint="Imports do not offer them" fields=${fields} chosen=${draft.exclusions} set=${(exclusions: string[]) => set({exclusions})} />
            <${TextField} label="Singular name" hint="Leave empty to use the name from the CRM" value=${draft.singular} onInput=${(singular: string) => set({singular})} />
            <${Select} label="Idempotency field" hint=${idempotencyHint} value=${draft.idempotencyField} options=${idempotencyOptions(fields, module.idempotencyField)} onChange=${(idempotencyField: string) => set({idempotencyField})} />
          </div>
        </div>
        <${Problem} error=${save.error} again=${again} />
        ${may('admin') && html`<${SaveActions} of=${form} isBusy=${save.isBusy} />`}
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
