import {useState} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import {useLoad} from '../state/load.ts'
import {to} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
import {t} from '../text/settings.ts'
import {Button} from '../ui/button.ts'
import {onDay} from '../ui/format.ts'
import {Shown} from '../ui/page.ts'
import {Table} from '../ui/table.ts'
import {SettingsFrame} from './frame.ts'
import {Publish} from './library-publish.ts'

export type Library = {
  namespace: string
  version: string
  versionNumber: number
  manifest: {
    description?: string
    functions: {name: string; description: string; parameters: {name: string}[]; returns?: string; examples?: Json[]}[]
  }
  source?: string
  managedBy: 'sdk' | null
  updatedAt: string
}

export const Libraries = () => {
  const loaded = useLoad<Library[]>(async signal => (await client.get<Json>(inOrg('/libraries'), {}, signal)).libraries, [])
  const [isNew, setNew] = useState(false)
  const actions = may('admin') && html`<${Button} kind="main" onClick=${() => setNew(true)}>${t.publishLibrary}<//>`
  return html`
    <${SettingsFrame} title=${t.libraries} lead=${t.yourOwnFunctionsForExpressions} actions=${actions}>
      ${isNew && html`<${Publish} again=${loaded.again} onClose=${() => setNew(false)} />`}
      <${Shown} of=${loaded}>
        ${(list: Library[]) => html`<${Table} caption=${t.libraries} columns=${columns} rows=${list} keyOf=${({namespace}: Library) => namespace} empty=${t.noLibrariesYetALibraryIsA} />`}
      <//>
    <//>
  `
}

const columns = [
  {head: t.library, isName: true, cell: ({namespace}: Library) => html`<a href=${to('settings', 'libraries', namespace)}>${namespace}</a>`},
  {head: t.description, cell: ({manifest}: Library) => manifest.description ?? '–'},
  {head: t.functions, isNumber: true, cell: ({manifest}: Library) => manifest.functions.length},
  {head: t.version, cell: ({version, versionNumber}: Library) => `${version} (v${versionNumber})`},
  {
    head: t.published,
    cell: ({updatedAt, managedBy}: Library) =>
      html`${onDay(updatedAt)}${managedBy === 'sdk' && html`<br /><span class="quiet">${t.byTheRepository}</span>`}`,
  },
]
