import {useState} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import type {PageProps} from '../pages.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {go, to} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
import {Button} from '../ui/button.ts'
import {Confirm} from '../ui/dialog.ts'
import {at} from '../ui/format.ts'
import {Notice, Problem, say} from '../ui/notice.ts'
import {Shown} from '../ui/page.ts'
import {Table} from '../ui/table.ts'
import {SettingsFrame} from './frame.ts'
import type {Library} from './libraries.ts'
import {Publish} from './library-publish.ts'

type Version = {versionNumber: number; version: string; restoredFrom: number | null; publishedBy: string | null; publishedAt: string}

/** Shows one library: its functions, its source, and its versions, each with a button to restore it. */
export const LibraryPage = ({params}: PageProps) => {
  const {namespace} = params as {namespace: string}
  const address = inOrg(`/libraries/${encodeURIComponent(namespace)}`)
  const library = useLoad<Library>(async signal => (await client.get<Json>(address, {}, signal)).library, [namespace])
  const versions = useLoad<Version[]>(async signal => (await client.get<Json>(`${address}/versions`, {}, signal)).versions, [namespace])
  const again = () => {
    library.again()
    versions.again()
  }
  return html`
    <${SettingsFrame} title=${namespace} trail=${[{label: 'Libraries', href: to('settings', 'libraries')}]} lead=${library.data?.manifest.description}>
      <${Shown} of=${library}>
        ${(one: Library) => html`
          ${one.managedBy === 'sdk' && html`<${Notice}>This library is managed by your configuration repository. Change it there.<//>`}
          ${may('admin') && one.managedBy === null && html`<${Deeds} library=${one} address=${address} again=${again} />`}
          <${Functions} library=${one} />
          <h2>Source</h2>
          <pre tabindex="0">${one.source}</pre>
        `}
      <//>
      <h2>Versions</h2>
      <${Shown} of=${versions}>${(list: Version[]) => html`<${Versions} list=${list} address=${address} again=${again} mayRestore=${may('admin') && library.data?.managedBy === null} />`}<//>
    <//>
  `
}

const Functions = ({library: {namespace, manifest}}: {library: Library}) => html`
  <${Table}
    caption="Functions"
    rows=${manifest.functions}
    keyOf=${({name}: Json) => name}
    columns=${[
      {
        head: 'Function',
        isName: true,
        cell: ({name, parameters}: Json) => html`<code>${namespace}.${name}(${parameters.map((one: Json) => one.name).join(', ')})</code>`,
      },
      {head: 'Description', cell: ({description}: Json) => description},
      {
        head: 'Example',
        cell: ({examples = []}: Json) =>
          examples.length > 0 &&
          html`<code>${JSON.stringify(examples[0].arguments).slice(1, -1)} → ${JSON.stringify(examples[0].result)}</code>`,
      },
    ]}
  />
`

type DeedsProps = {library: Library; address: string; again: () => void}

const Deeds = ({library, address, again}: DeedsProps) => {
  const [asks, setAsks] = useState<'publish' | 'remove' | null>(null)
  return html`
    <div class="actions">
      <${Button} onClick=${() => setAsks('publish')}>Publish new version<//>
      <${Button} kind="danger" onClick=${() => setAsks('remove')}>Remove<//>
    </div>
    <br />
    ${asks === 'publish' && html`<${Publish} library=${library} again=${again} onClose=${() => setAsks(null)} />`}
    ${
      asks === 'remove' &&
      html`
        <${Confirm}
          title=${`Remove ${library.namespace}?`}
          action="Remove"
          isDangerous
          onClose=${() => setAsks(null)}
          work=${async () => {
            await client.delete(address)
            say(`Removed ${library.namespace}`)
            go(to('settings', 'libraries'))
          }}
        >
          Expressions that use it fail from the next run on. All its versions are deleted.
        <//>
      `
    }
  `
}

const Versions = ({list, address, again, mayRestore}: {list: Version[]; address: string; again: () => void; mayRestore: boolean}) => {
  const restore = useDoing(async (versionNumber: number) => {
    await client.post(`${address}/versions/${versionNumber}/restore`)
    say(`Restored v${versionNumber} as the newest version`)
    again()
  })
  const columns = [
    {
      head: 'Version',
      isName: true,
      cell: ({version, versionNumber, restoredFrom}: Version) =>
        `v${versionNumber}: ${version}${restoredFrom ? ` (restored from v${restoredFrom})` : ''}`,
    },
    {head: 'Published', cell: ({publishedAt}: Version) => at(publishedAt)},
    {head: 'By', cell: ({publishedBy}: Version) => publishedBy ?? 'Deleted user'},
    {
      head: '',
      label: 'Actions',
      cell: ({versionNumber}: Version) =>
        mayRestore &&
        versionNumber !== list[0]!.versionNumber &&
        html`<${Button} kind="quiet" isBusy=${restore.isBusy} onClick=${() => restore.run(versionNumber)}>Restore<span class="unseen"> v${versionNumber}</span><//>`,
    },
  ]
  return html`<${Problem} error=${restore.error} /><${Table} caption="Versions" columns=${columns} rows=${list} keyOf=${({versionNumber}: Version) => String(versionNumber)} />`
}
