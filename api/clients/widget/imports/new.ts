import {useState} from 'preact/hooks'
import {ApiError, type Json} from '../../http.ts'
import {AwaitDiscovery} from '../connections/await-discovery.ts'
import {Connect} from '../connections/connect.ts'
import {runDiscovery} from '../connections/discovery.ts'
import type {Connection} from '../connections/list.ts'
import {html} from '../html.ts'
import {useKept} from '../state/kept.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {go, goIfHere, place, to} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
import type {TemplateOutline} from '../templates/list.ts'
import {t} from '../text/files.ts'
import {Button} from '../ui/button.ts'
import {Select, TextField} from '../ui/field.ts'
import {onDay} from '../ui/format.ts'
import {Notice, Problem, say} from '../ui/notice.ts'
import {Page, Shown} from '../ui/page.ts'
import {connectionFor} from './import-connection.ts'

type Ground = {connections: Connection[]; templates: TemplateOutline[]}

export const NewImport = () => {
  const wanted = place.value.query.get('template') ?? ''
  const loaded = useLoad<Ground>(
    async signal => {
      const [{connectors}, templates] = await Promise.all([
        client.get<Json>(inOrg('/connectors'), {}, signal),
        readTemplates(wanted, signal),
      ])
      return {connections: (connectors as Connection[]).filter(({state}) => state === 'connected'), templates}
    },
    [wanted],
  )
  return html`
    <${Page} title=${t.newImport} trail=${[{label: t.imports, href: to('imports')}]} lead=${t.nextUploadFilesAndMapTheirColumns}>
      <${Shown} of=${loaded}>
        ${({connections, templates}: Ground) =>
          !may('operator')
            ? html`<${Notice}>${t.youHaveReadOnlyAccessSoYou}<//>`
            : connections.length === 0
              ? html`<${NoConnection} again=${loaded.again} />`
              : html`<${ImportForm} connections=${connections} templates=${templates} />`}
      <//>
    <//>
  `
}

/** Returns the newest 200 templates. Adds the wanted template if it is older and exists. */
const readTemplates = async (wanted: string, signal: AbortSignal): Promise<TemplateOutline[]> => {
  const {templates} = await client.get<{templates: TemplateOutline[]}>(inOrg('/templates'), {limit: 200}, signal)
  if (!wanted || templates.some(({id}) => id === wanted)) return templates
  try {
    const {template} = await client.get<{template: TemplateOutline}>(inOrg(`/templates/${encodeURIComponent(wanted)}`), {}, signal)
    return [...templates, template]
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return templates
    throw error
  }
}

const NoConnection = ({again}: {again: () => void}) => {
  const [connected, setConnected] = useState<string | null>(null)
  if (connected) return html`<${AwaitDiscovery} connection=${connected} onRead=${again} />`
  if (!may('admin', 'access')) return html`<p class="empty">${t.noCrmIsConnectedYetAskAn}</p>`
  return html`
    <${Notice} title=${t.connectYourCrmFirst}>${t.aNewWindowOpensWhereYouSign}<//>
    <${Connect} isFirst=${true} again=${setConnected} />
  `
}

const usualName = () => t.importOf(onDay(new Date().toISOString()))

type StoredForm = {name: string; connectorId: string; templateId: string}

const ImportForm = ({connections, templates}: Ground) => {
  const wanted = place.value.query.get('template') ?? ''
  const [draft, setDraft, forget] = useKept<StoredForm>('new import', {name: '', connectorId: '', templateId: ''})
  const templateId = wanted || draft.templateId
  const template = templates.find(({id}) => id === templateId)
  const connectorId = connectionFor(connections, template, draft.connectorId)
  const make = useDoing(async () => {
    const goOn = goIfHere()
    const name = draft.name.trim() || (template ? '' : usualName())
    const {import: made} = await client.post(inOrg('/imports'), {connectorId, ...(name && {name}), ...(template && {templateId})})
    forget()
    say(t.created(made.name))
    goOn(to('imports', made.id, 'match'), {replace: true})
  })
  const change = (changes: Partial<StoredForm>) => setDraft({...draft, templateId, ...changes})
  const chooseTemplate = (id: string) => {
    if (wanted) go(to('imports', 'new'), {replace: true})
    change({templateId: id, connectorId: ''})
  }
  const submit = (event: Event) => {
    event.preventDefault()
    make.run()
  }
  return html`
    <form class="sheet new-import" onSubmit=${submit}>
      <${TextField} label=${t.name} hint=${t.defaultName(template ? t.theNameOfTheTemplate : usualName())} maxlength="200" value=${draft.name} onInput=${(name: string) => change({name})} />
      ${(templates.length > 0 || wanted) && html`<${Select} label=${t.template} hint=${t.forFilesLikeThoseOfAnEarlier} value=${template?.id ?? ''} options=${[{value: '', label: t.none}, ...templates.map(({id, name}) => ({value: id, label: name}))]} onChange=${chooseTemplate} />`}
      ${wanted && !template && html`<${Notice} kind="warning">${t.thisTemplateWasDeletedOrIsNot}<//>`}
      ${connectorId === null && html`<${EndedConnection} />`}
      ${connections.length > 1 && connectorId && html`<${Select} label=${t.connection} hint=${t.theCrmToWriteTo} value=${connectorId} disabled=${Boolean(template?.connectorId)} options=${connections.map(({id, name, crmUserName}) => ({value: id, label: t.nameWithUser(name, crmUserName)}))} onChange=${(id: string) => change({connectorId: id})} />`}
      ${connectorId && html`<${Undiscovered} key=${connectorId} connection=${connectorId} />`}
      <${Problem} error=${make.error} title=${t.couldNotCreateTheImport} />
      <${Button} kind="main" type="submit" isBusy=${make.isBusy} disabled=${connectorId === null}>${t.createImport}<//>
    </form>
  `
}

const EndedConnection = () => {
  const mayConnect = may('admin', 'access')
  const actions = mayConnect && html`<a class="button" href=${to('connections')}>${t.goToConnections}</a>`
  const fix = mayConnect ? t.connectItAgainOrChooseAnother : t.askAnAdminToConnectItAgain
  return html`<${Notice} kind="warning" title=${t.theCrmOfThisTemplateIsNot} actions=${actions}>${fix}<//>`
}

/** Warns that the modules and fields of the connection have not been read, so nothing can be mapped. */
const Undiscovered = ({connection}: {connection: string}) => {
  const {data, again} = useLoad<number>(
    async signal => (await client.get<Json>(inOrg('/config/modules'), {connector: connection}, signal)).modules.length,
    [connection],
  )
  const read = useDoing(async () => {
    await runDiscovery(connection)
    again()
  })
  if (data === undefined || data > 0) return null
  return html`
    <${Notice} kind="warning" title=${t.theModulesAndFieldsOfThis}>${may('admin') ? html`<${Button} isBusy=${read.isBusy} onClick=${() => read.run()}>${t.readNow}<//>` : t.askAnAdminToReadThem}<//>
    <${Problem} error=${read.error} />
  `
}
