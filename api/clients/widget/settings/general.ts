import {writeDay} from '../../date-text.ts'
import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {client, inOrg, may, readMe} from '../state/session.ts'
import {SaveActions, useDraft} from '../ui/draft.ts'
import {Check, Select, TextArea} from '../ui/field.ts'
import {Notice, Problem, say} from '../ui/notice.ts'
import {Shown} from '../ui/page.ts'
import {ZoneField} from '../ui/zone-field.ts'
import {SettingsFrame} from './frame.ts'

type Settings = {
  dateFormat: string
  timezone: string
  expressionContext: unknown
  aiSamplePolicy: string
  onEdited: string | null
  followsCrmRoles: boolean
}
type GeneralInput = {settings: Settings; registryVersion: number}

const policies = [
  {value: 'allow', label: 'Send values'},
  {value: 'masked', label: 'Mask personal values'},
  {value: 'deny', label: 'Send no values'},
]
const onEdited = [
  {value: '', label: 'Schedules keep them, other imports overwrite them'},
  {value: 'overwrite', label: 'Overwrite them'},
  {value: 'keep', label: 'Keep them'},
  {value: 'ask', label: 'Ask'},
]
const dateFormats = ['yyyy-MM-dd', 'dd.MM.yyyy', 'dd/MM/yyyy', 'MM/dd/yyyy', 'd.M.yyyy']

/** General settings of the org. Saving fails if they have changed since they were loaded. */
export const General = () => {
  const loaded = useLoad<GeneralInput>(signal => client.get(inOrg('/config/settings'), {}, signal), [])
  return html`
    <${SettingsFrame} title="General" lead="Settings for the whole organisation.">
      <${Shown} of=${loaded}>${(read: GeneralInput) => html`<${SettingsForm} key=${read.registryVersion} read=${read} again=${loaded.again} />`}<//>
    <//>
  `
}

const SettingsForm = ({read: {settings, registryVersion}, again}: {read: GeneralInput; again: () => void}) => {
  const form = useDraft({...settings, expressionContext: JSON.stringify(settings.expressionContext, null, 2)})
  const {draft, set} = form
  const save = useDoing(async () => {
    const changed = {...draft, expressionContext: readJson(draft.expressionContext)}
    await client.patch(inOrg('/config/settings'), changed, {'if-match': `"${registryVersion}"`})
    await readMe()
    say('Settings saved')
    again()
  })
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
          label="Data sent to AI"
          hint="Sample values sent to an AI model, if one is configured. Fields marked as personal data are always masked."
          value=${draft.aiSamplePolicy}
          options=${policies}
          onChange=${(aiSamplePolicy: string) => set({aiSamplePolicy})}
        />
        <${Select}
          label="Values that people changed in the CRM"
          hint="What imports do with them. Modules and mappings can choose otherwise."
          value=${draft.onEdited ?? ''}
          options=${onEdited}
          onChange=${(value: string) => set({onEdited: value || null})}
        />
        <${TextArea} label="Expression context" hint="JSON available to every expression as “context”, for example a rate or a list of codes" rows="4" value=${draft.expressionContext} onInput=${(expressionContext: string) => set({expressionContext})} />
        <${Check}
          label="Roles follow the CRM"
          hint="Each sign-in and renewal reads a member’s profile in the CRM. Roles set by hand or by an invitation stay; people deactivated in the CRM lose access"
          checked=${draft.followsCrmRoles}
          onChange=${(followsCrmRoles: boolean) => set({followsCrmRoles})}
        />
        <${Problem} error=${save.error} again=${isStale(save.error) ? again : undefined} />
        ${mayChange ? html`<${SaveActions} of=${form} isBusy=${save.isBusy} />` : html`<${Notice}>Only admins can change these settings.<//>`}
      </fieldset>
    </form>
  `
}

const Formats = ({draft, set}: {draft: Settings; set: (change: Partial<Settings>) => void}) => html`
  <${Select}
    label="Date format"
    hint="For dates on these pages and in the command line. Also for dates in files, where a column shows no other format"
    value=${draft.dateFormat}
    options=${[...new Set([draft.dateFormat, ...dateFormats])].map(value => ({value, label: `${value} (${writeDay(new Date(), value)})`}))}
    onChange=${(dateFormat: string) => set({dateFormat})}
  />
  <${ZoneField} value=${draft.timezone} hint="Used for dates and times in files that have no time zone" onChange=${(timezone: string) => set({timezone})} />
`

const isStale = (error: Json) => error?.code === 'REGISTRY_CONFLICT'

const readJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`The expression context is not JSON: ${(error as Error).message}`)
  }
}
