import {useRef, useState} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import {useFieldLabels} from '../imports/module-data.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {place, setQuery, to} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
import {t} from '../text/settings.ts'
import {Button} from '../ui/button.ts'
import {Select, TextField} from '../ui/field.ts'
import {Problem, say} from '../ui/notice.ts'
import {Shown} from '../ui/page.ts'
import {Pill} from '../ui/pill.ts'
import {Table} from '../ui/table.ts'
import {SettingsFrame} from './frame.ts'
import {type ConfiguredModule, ifVersion, patchModule} from './registry.ts'

type Connector = {id: string; name: string; state: string}
type Edited = {registryVersion?: number}
type ModulesInput = {modules: ConfiguredModule[]; registryVersion: number}

export const Modules = () => {
  const connectors = useLoad<Connector[]>(async signal => (await client.get<Json>(inOrg('/connectors'), {}, signal)).connectors, [])
  return html`
    <${SettingsFrame} title=${t.modules} lead=${t.disableTheModulesThatImportsMust}>
      <${Shown} of=${connectors}>
        ${(list: Connector[]) =>
          list.length === 0
            ? html`<p class="empty">${t.noModulesYet} <a href=${to('connections')}>${t.connectACrm}</a> ${t.first}</p>`
            : html`<${OfConnection} connectors=${list} />`}
      <//>
    <//>
  `
}

const OfConnection = ({connectors}: {connectors: Connector[]}) => {
  const asked = place.value.query.get('connection')
  const connection = connectors.find(({id}) => id === asked) ?? connectors.find(({state}) => state === 'connected') ?? connectors[0]!
  const [text, setText] = useState('')
  const loaded = useLoad<ModulesInput>(signal => client.get(inOrg('/config/modules'), {connector: connection.id}, signal), [connection.id])
  const shows = ({apiName, label, key}: ConfiguredModule) =>
    [apiName, label ?? '', key ?? ''].some(name => name.toLowerCase().includes(text.trim().toLowerCase()))
  return html`
    <div class="columns">
      ${connectors.length > 1 && html`<${Select} label=${t.connection} value=${connection.id} options=${connectors.map(({id, name}) => ({value: id, label: name}))} onChange=${(id: string) => setQuery({connection: id})} />`}
      <${TextField} label=${t.findAModule} type="search" value=${text} onInput=${setText} />
    </div>
    <${Shown} of=${loaded}>
      ${(read: ModulesInput) => html`<${ModuleTable} read=${{...read, modules: read.modules.filter(shows)}} all=${read.modules} again=${loaded.again} />`}
    <//>
  `
}

const ModuleTable = ({read: {modules, registryVersion}, all, again}: {read: ModulesInput; all: ConfiguredModule[]; again: () => void}) => {
  // The newest registry version in a response. The next change must send this version, even if the list has not reloaded since the previous change.
  const version = useRef(registryVersion)
  version.current = Math.max(version.current, registryVersion)
  const isReloading = registryVersion < version.current
  const keepVersion = ({registryVersion = 0}: Edited) => (version.current = Math.max(version.current, registryVersion))
  const change = useDoing(async (module: ConfiguredModule, enabled: boolean) => {
    keepVersion(await patchModule(module, version.current, {enabled}))
    say((enabled ? t.moduleEnabled : t.moduleDisabled)(module.label ?? module.apiName))
    again()
  })
  const ordered = all.filter(({key}) => key !== null)
  const matched = all.filter(({match}) => match !== null).map(({apiName}) => apiName)
  const labelOf = useFieldLabels(all[0]?.connectorId ?? '', matched)
  const move = useDoing(async (module: ConfiguredModule, by: -1 | 1) => {
    if (isReloading) return
    const keys = ordered.map(({key}) => key!)
    const from = keys.indexOf(module.key!)
    keys.splice(from + by, 0, ...keys.splice(from, 1))
    const path = `${inOrg('/config/modules/order')}?connector=${module.connectorId}`
    keepVersion(await client.put<Edited>(path, {modules: keys}, ifVersion(version.current)))
    say(t.movedToPosition(module.label ?? module.apiName, from + by + 1))
    again()
  })
  const mayChange = may('admin')
  const columns = [
    {
      head: t.module,
      isName: true,
      cell: (module: ConfiguredModule) => html`
        <a href=${to('settings', 'modules', module.connectorId, module.apiName)}>${module.label ?? module.apiName}</a>
        ${module.removed && html` <${Pill} tone="warning">${t.deletedInTheCrm}<//>`}
      `,
    },
    {head: t.apiName, cell: ({apiName}: ConfiguredModule) => html`<code>${apiName}</code>`},
    {
      head: t.imports,
      cell: (module: ConfiguredModule) =>
        html`<${Select} label=${html`<span class="unseen">${t.importsInto} ${module.label ?? module.apiName}</span>`} value=${String(module.enabled)} options=${statesOf(module)} disabled=${!mayChange} onChange=${(value: string) => change.run(module, value === 'true')} />`,
    },
    {
      head: t.matchedBy,
      cell: ({apiName, match}: ConfiguredModule) =>
        match?.by.map(field => labelOf(apiName, field)).join(' + ') ?? html`<span class="quiet">${t.notSet}</span>`,
    },
    ...(mayChange && ordered.length > 1
      ? [
          {
            head: t.order,
            cell: (module: ConfiguredModule) =>
              module.key && html`<${Order} module=${module} of=${ordered} isReloading=${isReloading} move=${move.run} />`,
          },
        ]
      : []),
  ]
  return html`
    <${Problem} error=${change.error ?? move.error} again=${again} />
    <${Table} caption=${t.modules} columns=${columns} rows=${modules} keyOf=${({apiName}: ConfiguredModule) => apiName} empty=${t.noMatchingModulesIfModulesAre} />
  `
}

/** The state "not decided" (`enabled: null`) is an option only until a person decides. */
const statesOf = ({enabled}: ConfiguredModule) => [
  ...(enabled === null ? [{value: 'null', label: t.allowed}] : []),
  {value: 'true', label: t.enabled},
  {value: 'false', label: t.disabled},
]

type OrderProps = {
  module: ConfiguredModule
  of: ConfiguredModule[]
  isReloading: boolean
  move: (module: ConfiguredModule, by: -1 | 1) => void
}

const Order = ({module, of, isReloading, move}: OrderProps) => {
  // Until the list shows the previous change, an order made from it would revert that change. Not `disabled`: such a button loses the focus.
  const ignored = isReloading ? 'true' : undefined
  const at = of.indexOf(module)
  const name = module.label ?? module.apiName
  return html`
    <span class="row">
      ${at + 1}
      <${Button} kind="quiet" label=${t.moveUp(name)} aria-disabled=${ignored} disabled=${at === 0} onClick=${() => move(module, -1)}>↑<//>
      <${Button} kind="quiet" label=${t.moveDown(name)} aria-disabled=${ignored} disabled=${at === of.length - 1} onClick=${() => move(module, 1)}>↓<//>
    </span>
  `
}
