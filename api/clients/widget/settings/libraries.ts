import {useState} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import {useLoad} from '../state/load.ts'
import {to} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
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

/** The helper libraries of the org. */
export const Libraries = () => {
  const loaded = useLoad<Library[]>(async signal => (await client.get<Json>(inOrg('/libraries'), {}, signal)).libraries, [])
  const [isNew, setNew] = useState(false)
  const actions = may('admin') && html`<${Button} kind="main" onClick=${() => setNew(true)}>Publish library<//>`
  return html`
    <${SettingsFrame} title="Libraries" lead="Your own functions for expressions, called by the name of the library, for example names.full(row.First, row.Last)." actions=${actions}>
      ${isNew && html`<${Publish} again=${loaded.again} onClose=${() => setNew(false)} />`}
      <${Shown} of=${loaded}>
        ${(list: Library[]) => html`<${Table} caption="Libraries" columns=${columns} rows=${list} keyOf=${({namespace}: Library) => namespace} empty="No libraries yet. A library is a small JavaScript module whose functions every expression can call." />`}
      <//>
    <//>
  `
}

const columns = [
  {head: 'Library', isName: true, cell: ({namespace}: Library) => html`<a href=${to('settings', 'libraries', namespace)}>${namespace}</a>`},
  {head: 'Description', cell: ({manifest}: Library) => manifest.description ?? '–'},
  {head: 'Functions', isNumber: true, cell: ({manifest}: Library) => manifest.functions.length},
  {head: 'Version', cell: ({version, versionNumber}: Library) => `${version} (v${versionNumber})`},
  {
    head: 'Published',
    cell: ({updatedAt, managedBy}: Library) =>
      html`${onDay(updatedAt)}${managedBy === 'sdk' && html`<br /><span class="quiet">by the repository</span>`}`,
  },
]
