import {useState} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {client, inOrg, may} from '../state/session.ts'
import {Button} from '../ui/button.ts'
import {Check, Select, TextArea, TextField} from '../ui/field.ts'
import {Notice, Problem, say} from '../ui/notice.ts'
import {Shown} from '../ui/page.ts'
import {SettingsFrame} from './frame.ts'

type Settings = {
  dateFormat: string
  timezone: string
  expressionContext: unknown
  aiSamplePolicy: string
  followsCrmRoles: boolean
}
type Read = {settings: Settings; registryVersion: number}

const policies = [
  {value: 'allow', label: 'Values may leave'},
  {value: 'masked', label: 'Personal values leave as shapes only'},
  {value: 'deny', label: 'No values leave'},
]
const dateFormats = ['yyyy-MM-dd', 'dd.MM.yyyy', 'dd/MM/yyyy', 'MM/dd/yyyy', 'd.M.yyyy']

/** What holds for the whole organisation. What is saved is held against the version it was read at. */
export const General = () => {
  const loaded = useLoad<Read>(signal => client.get(inOrg('/config/settings'), {}, signal), [])
  return html`
    <${SettingsFrame} title="General" lead="What holds for the whole organisation.">
      <${Shown} of=${loaded}>${(read: Read) => html`<${SettingsForm} key=${read.registryVersion} read=${read} again=${loaded.again} />`}<//>
    <//>
  `
}

const SettingsForm = ({read: {settings, registryVersion}, again}: {read: Read; again: () => void}) => {
  const [draft, setDraft] = useState(settings)
  const [context, setContext] = useState(JSON.stringify(settings.expressionContext, null, 2))
  const save = useDoing(async () => {
    const changed = {...draft, expressionContext: readJson(context)}
    await client.patch(inOrg('/config/settings'), changed, {'if-match': `"${registryVersion}"`})
    say('The settings are saved')
    again()
  })
  const set = (change: Partial<Settings>) => setDraft({...draft, ...change})
  const submit = (event: Event) => {
    event.preventDefault()
    save.run()
  }
  const mayChange = may('admin')
  return html`
    <form class="sheet settings-form" onSubmit=${submit}>
      <fieldset class="bare" disabled=${!mayChange}>
        <${Formats} draft=${draft} set=${set} />
        <${Select}
          label="What AI help may see of your files"
          hint="What leaves this server for a language model, where one is configured. Fields marked as personal never leave as they are."
          value=${draft.aiSamplePolicy}
          options=${policies}
          onChange=${(aiSamplePolicy: string) => set({aiSamplePolicy})}
        />
        <${TextArea} label="Context of expressions" hint="JSON that every expression sees as “context”, such as a rate or a list of codes" rows="4" value=${context} onInput=${setContext} />
        <${Check}
          label="Roles follow the CRM"
          hint="Each sign-in and renewal reads a member’s profile in the CRM. Roles set by hand or by an invitation stay; people deactivated in the CRM lose access"
          checked=${draft.followsCrmRoles}
          onChange=${(followsCrmRoles: boolean) => set({followsCrmRoles})}
        />
        <${Problem} error=${save.error} again=${isStale(save.error) ? again : undefined} />
        ${mayChange ? html`<${Button} kind="main" type="submit" isBusy=${save.isBusy}>Save<//>` : html`<${Notice}>Admins change these.<//>`}
      </fieldset>
    </form>
  `
}

const Formats = ({draft, set}: {draft: Settings; set: (change: Partial<Settings>) => void}) => html`
  <${Select}
    label="Dates are shown as"
    value=${draft.dateFormat}
    options=${[...new Set([draft.dateFormat, ...dateFormats])].map(value => ({value, label: value}))}
    onChange=${(dateFormat: string) => set({dateFormat})}
  />
  <${TextField}
    label="Time zone"
    hint="By its name in the IANA’s list: dates and times in files without one of their own are read in it"
    list="time-zones"
    required
    value=${draft.timezone}
    onInput=${(timezone: string) => set({timezone})}
  />
  <datalist id="time-zones">${Intl.supportedValuesOf('timeZone').map(zone => html`<option value=${zone}></option>`)}</datalist>
`

const isStale = (error: Json) => error?.code === 'REGISTRY_CONFLICT'

const readJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`The context of expressions is not JSON: ${(error as Error).message}`)
  }
}
