import {writeDay} from '../../date-text.ts'
import {html} from '../html.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {client, inOrg, may, readMe} from '../state/session.ts'
import {t} from '../text/settings.ts'
import {Closed} from '../ui/closed.ts'
import {SaveActions, useDraft} from '../ui/draft.ts'
import {Check, Select, TextArea} from '../ui/field.ts'
import {Notice, Problem, say} from '../ui/notice.ts'
import {Shown} from '../ui/page.ts'
import {ZoneField} from '../ui/zone-field.ts'
import {SettingsFrame} from './frame.ts'
import {isStale} from './registry.ts'

type Settings = {
  dateFormat: string
  timezone: string
  expressionContext: unknown
  aiSamplePolicy: string
  onEdited: string | null
  embedOrigins?: string[] | null
  followsCrmRoles: boolean
}
type GeneralInput = {settings: Settings; registryVersion: number}

const policies = [
  {value: 'allow', label: t.sendValues},
  {value: 'masked', label: t.maskPersonalValues},
  {value: 'deny', label: t.sendNoValues},
]
const onEdited = [
  {value: '', label: t.schedulesKeepThemOtherImports},
  {value: 'overwrite', label: t.overwriteThem},
  {value: 'keep', label: t.keepThem},
  {value: 'ask', label: t.ask},
]
const dateFormats = ['yyyy-MM-dd', 'dd.MM.yyyy', 'dd/MM/yyyy', 'MM/dd/yyyy', 'd.M.yyyy']

/** Saving fails if the org's configuration changed after the page loaded it. */
export const General = () => {
  const loaded = useLoad<GeneralInput>(signal => client.get(inOrg('/config/settings'), {}, signal), [])
  return html`
    <${SettingsFrame} title=${t.general} lead=${t.settingsForTheWholeOrganisation}>
      <${Shown} of=${loaded}>${(read: GeneralInput) => html`<${SettingsForm} read=${read} again=${loaded.again} />`}<//>
    <//>
  `
}

const draftOf = (settings: Settings) => ({
  ...settings,
  expressionContext: JSON.stringify(settings.expressionContext, null, 2),
  embedOrigins: (settings.embedOrigins ?? []).join('\n'),
})

const SettingsForm = ({read: {settings, registryVersion}, again}: {read: GeneralInput; again: () => void}) => {
  const form = useDraft(draftOf(settings))
  const {draft, set} = form
  const save = useDoing(async () => {
    const origins = draft.embedOrigins.split(/\s+/).filter(origin => origin !== '')
    const embedOrigins = origins.length > 0 ? origins : null
    const changed = {...draft, expressionContext: readJson(draft.expressionContext), embedOrigins}
    const saved: GeneralInput = await client.patch(inOrg('/config/settings'), changed, {'if-match': `"${registryVersion}"`})
    form.keepSaved(draftOf(saved.settings))
    await readMe()
    say(t.settingsSaved)
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
  const mayChange = may('admin')
  return html`
    <form class="sheet settings-form" onSubmit=${submit}>
      <fieldset class="bare" disabled=${!mayChange}>
        <${Formats} draft=${draft} set=${set} />
        <${Select}
          label=${t.dataSentToAi}
          hint=${t.sampleValuesSentToAnAiModel}
          value=${draft.aiSamplePolicy}
          options=${policies}
          onChange=${(aiSamplePolicy: string) => set({aiSamplePolicy})}
        />
        <${Select}
          label=${t.valuesThatPeopleChangedInTheCrm}
          hint=${t.whatImportsDoWithThemModulesAnd}
          value=${draft.onEdited ?? ''}
          options=${onEdited}
          onChange=${(value: string) => set({onEdited: value || null})}
        />
        <${TextArea} label=${t.expressionContext} hint=${t.jsonAvailableToEveryExpressionAs} rows="4" value=${draft.expressionContext} onInput=${(expressionContext: string) => set({expressionContext})} />
        <fieldset class="bare" disabled=${!may('admin', 'access')}>
          <${TextArea} label=${t.embedOrigins} hint=${t.embedOriginsHint} rows="2" value=${draft.embedOrigins} onInput=${(embedOrigins: string) => set({embedOrigins})} />
          <${Check}
            label=${t.rolesFollowTheCrm}
            hint=${t.eachSignInAndRenewalReadsA}
            checked=${draft.followsCrmRoles}
            onChange=${(followsCrmRoles: boolean) => set({followsCrmRoles})}
          />
          <${Closed} role="admin" change="access" />
        </fieldset>
        <${Problem} error=${save.error} again=${isStale(save.error) ? reload : undefined} />
        ${mayChange ? html`<${SaveActions} of=${form} isBusy=${save.isBusy} />` : html`<${Notice}>${t.onlyAdminsCanChangeTheseSettings}<//>`}
      </fieldset>
    </form>
  `
}

type FormatSettings = Pick<Settings, 'dateFormat' | 'timezone'>

const Formats = ({draft, set}: {draft: FormatSettings; set: (change: Partial<FormatSettings>) => void}) => html`
  <${Select}
    label=${t.dateFormat}
    hint=${t.forDatesOnThesePagesAndIn}
    value=${draft.dateFormat}
    options=${[...new Set([draft.dateFormat, ...dateFormats])].map(value => ({value, label: `${value} (${writeDay(new Date(), value)})`}))}
    onChange=${(dateFormat: string) => set({dateFormat})}
  />
  <${ZoneField} value=${draft.timezone} hint=${t.usedForDatesAndTimesInFiles} onChange=${(timezone: string) => set({timezone})} />
`

const readJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(t.theExpressionContextIsNotJson((error as Error).message))
  }
}
