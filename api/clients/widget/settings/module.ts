import {useState} from 'preact/hooks'
import {runDiscovery} from '../connections/discovery.ts'
import {html} from '../html.ts'
import type {PageProps} from '../pages.ts'
import {useDoing, useLoad, useRemoved} from '../state/load.ts'
import {to} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
import {t} from '../text/settings.ts'
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
import {type ConfiguredField, type ConfiguredModule, idempotencyOptions, isStale, patchModule} from './registry.ts'

type ModuleInput = {module: ConfiguredModule; fields: ConfiguredField[]; registryVersion: number}
type Part = {read: ModuleInput; again: () => void}

export const Module = ({params}: PageProps) => {
  const {connection, module} = params as {connection: string; module: string}
  const loaded = useLoad<ModuleInput>(
    signal => client.get(inOrg(`/config/fields/${encodeURIComponent(module)}`), {connector: connection, all: 1}, signal),
    [connection, module],
  )
  const trail = [{label: t.modules, href: to('settings', 'modules', {connection})}]
  return html`
    <${SettingsFrame} title=${loaded.data?.module.label ?? module} trail=${trail}>
      <${Shown} of=${loaded}>
        ${(read: ModuleInput) =>
          read.fields.some(({removed}) => !removed)
            ? html`
                <${Values} key=${`${read.module.connectorId} ${read.module.apiName}`} read=${read} again=${loaded.again} />
                <${Fields} read=${read} again=${loaded.again} />
              `
            : html`<${NeedsDiscovery} connection=${connection} onRead=${loaded.again} />`}
      <//>
    <//>
  `
}

const NeedsDiscovery = ({connection, onRead}: {connection: string; onRead: () => void}) => {
  const removed = useRemoved()
  const read = useDoing(async () => {
    await runDiscovery(connection, {signal: removed})
    onRead()
  })
  const actions = may('admin') && html`<${Button} isBusy=${read.isBusy} onClick=${() => read.run()}>${t.readTheFieldsNow}<//>`
  return html`
    <${Notice} title=${t.theFieldsOfThisModuleAreNot} actions=${actions}>
      ${t.readingThemFromTheCrmTakesAbout} ${!may('admin') && t.askAnAdminToDoIt}
    <//>
    <${Problem} error=${read.error} again=${() => read.run()} />
  `
}

const onOne = [
  {value: 'update', label: t.updateIt},
  {value: 'skip', label: t.skipTheRow},
  {value: 'create', label: t.createAnother},
]
const onMany = [
  {value: 'ask', label: t.askMe},
  {value: 'first', label: t.useTheOldest},
  {value: 'skip', label: t.skipTheRow},
]

const onEdited = [
  {value: '', label: t.asSetForTheOrganisation},
  {value: 'overwrite', label: t.overwriteThem},
  {value: 'keep', label: t.keepThem},
  {value: 'ask', label: t.ask},
]

const idempotencyHint = t.importsFillThisFieldSoThatA

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
    const saved = await patchModule(module, registryVersion, {
      uniqueFields,
      exclusions,
      singular: draft.singular.trim() || null,
      match: by.length ? {by, onOne, onMany} : null,
      onEdited: draft.onEdited || null,
      idempotencyField: draft.idempotencyField || null,
    })
    form.keepSaved(savedValues(saved.module))
    say(t.moduleSaved)
    again()
  })
  const reload = () => {
    save.clear()
    again()
  }
  const submit = (event: Event) => {
    event.preventDefault()
    save.run()
  }
  return html`
    <form class="sheet" onSubmit=${submit}>
      ${!may('admin') && html`<${Notice}>${t.onlyAdminsCanChangeTheseSettings}<//>`}
      <fieldset class="bare" disabled=${!may('admin')}>
        <div class="columns">
          <div>
            <${FieldPicker} label=${t.matchFields} hint=${t.importsFindAnExistingRecordByThese} fields=${fields} chosen=${draft.by} set=${(by: string[]) => set({by})} />
            <${Select} label=${t.ifOneRecordMatches} value=${draft.onOne} options=${onOne} onChange=${(value: string) => set({onOne: value})} />
            <${Select} label=${t.ifSeveralMatch} value=${draft.onMany} options=${onMany} onChange=${(value: string) => set({onMany: value})} />
            <${Select} label=${t.ifPeopleChangedValuesInTheCrm} value=${draft.onEdited} options=${onEdited} onChange=${(value: string) => set({onEdited: value as typeof draft.onEdited})} />
          </div>
          <div>
            <${FieldPicker} label=${t.uniqueFields} hint=${t.theirValuesTellRecordsApart} fields=${fields} chosen=${draft.unique} set=${(unique: string[]) => set({unique})} />
            <${FieldPicker} label=${t.hiddenFields} hint=${t.importsDoNotOfferThem} fields=${fields} chosen=${draft.exclusions} set=${(exclusions: string[]) => set({exclusions})} />
            <${TextField} label=${t.singularName} hint=${t.leaveEmptyToUseTheNameFrom} value=${draft.singular} onInput=${(singular: string) => set({singular})} />
            <${Select} label=${t.idempotencyField} hint=${idempotencyHint} value=${draft.idempotencyField} options=${idempotencyOptions(fields, module.idempotencyField)} onChange=${(idempotencyField: string) => set({idempotencyField})} />
          </div>
        </div>
        <${Problem} error=${save.error} again=${isStale(save.error) ? reload : undefined} />
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
    <h2>${t.fields}</h2>
    <div class="settings-filter"><${TextField} label=${t.findAField} type="search" value=${text} onInput=${setText} /></div>
    <${Table} caption=${t.fields} columns=${columnsOf(setEdited)} rows=${rows} keyOf=${({apiName}: ConfiguredField) => apiName} empty=${t.noMatchingFields} />
    ${edited && html`<${FieldDialog} module=${read.module} version=${read.registryVersion} field=${edited} again=${again} onClose=${() => setEdited(null)} />`}
  `
}

const columnsOf = (edit: (field: ConfiguredField) => void) => [
  {
    head: t.field,
    isName: true,
    cell: ({label, apiName}: ConfiguredField) => html`${label ?? apiName}<br /><code class="quiet">${apiName}</code>`,
  },
  {head: t.type, cell: ({type}: ConfiguredField) => type ?? '–'},
  {
    head: t.crmProperties,
    cell: ({required, unique, readOnly, removed}: ConfiguredField) => html`
      ${required && html`<${Pill} tone="info">${t.required}<//> `}${unique && html`<${Pill}>${t.unique}<//> `}${readOnly && html`<${Pill}>${t.readOnly}<//> `}${removed && html`<${Pill} tone="warning">${t.deleted}<//>`}
    `,
  },
  {
    head: t.annotation,
    cell: ({annotation}: ConfiguredField) => html`
      ${annotation?.pii && html`<${Pill} tone="warning">${t.personal}<//> `}${annotation?.excluded && html`<${Pill}>${t.hiddenMark}<//> `}${annotation?.description ?? (annotation?.aliases?.length ? t.aliasesNamed(annotation.aliases.join(', ')) : null)}
    `,
  },
  {
    head: '',
    label: t.actions,
    cell: (field: ConfiguredField) =>
      may('admin') &&
      html`<${Button} kind="quiet" onClick=${() => edit(field)}>${t.edit}<span class="unseen"> ${field.label ?? field.apiName}</span><//>`,
  },
]
