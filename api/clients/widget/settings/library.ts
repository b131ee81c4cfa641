import {useState} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import type {PageProps} from '../pages.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {go, to} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
import {t} from '../text/settings.ts'
import {Button} from '../ui/button.ts'
import {Confirm} from '../ui/dialog.ts'
import {at} from '../ui/format.ts'
import {Notice, Problem, say} from '../ui/notice.ts'
import {Shown} from '../ui/page.ts'
import {type PagedRows, PagedTable, usePages} from '../ui/paged-table.ts'
import {Table} from '../ui/table.ts'
import {SettingsFrame} from './frame.ts'
import type {Library} from './libraries.ts'
import {Publish} from './library-publish.ts'

type Version = {versionNumber: number; version: string; restoredFrom: number | null; publishedBy: string | null; publishedAt: string}

export const LibraryPage = ({params}: PageProps) => {
  const {namespace} = params as {namespace: string}
  const path = `/libraries/${encodeURIComponent(namespace)}`
  const address = inOrg(path)
  const library = useLoad<Library>(async signal => (await client.get<Json>(address, {}, signal)).library, [namespace])
  const versions = usePages<Version>(`${path}/versions`, 'versions', {})
  const again = () => {
    library.again()
    versions.again()
  }
  return html`
    <${SettingsFrame} title=${namespace} trail=${[{label: t.libraries, href: to('settings', 'libraries')}]} lead=${library.data?.manifest.description}>
      <${Shown} of=${library}>
        ${(one: Library) => html`
          ${one.managedBy === 'sdk' && html`<${Notice}>${t.thisLibraryIsManagedByYour}<//>`}
          ${may('admin') && one.managedBy === null && html`<${Deeds} library=${one} address=${address} again=${again} />`}
          <${Functions} library=${one} />
          <h2>${t.source}</h2>
          <pre tabindex="0">${one.source}</pre>
        `}
      <//>
      <h2>${t.versions}</h2>
      <${Versions} of=${versions} address=${address} again=${again} mayRestore=${may('admin') && library.data?.managedBy === null} />
    <//>
  `
}

const Functions = ({library: {namespace, manifest}}: {library: Library}) => html`
  <${Table}
    caption=${t.functions}
    rows=${manifest.functions}
    keyOf=${({name}: Json) => name}
    columns=${[
      {
        head: t.function,
        isName: true,
        cell: ({name, parameters}: Json) => html`<code>${namespace}.${name}(${parameters.map((one: Json) => one.name).join(', ')})</code>`,
      },
      {head: t.description, cell: ({description}: Json) => description},
      {
        head: t.example,
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
      <${Button} onClick=${() => setAsks('publish')}>${t.publishNewVersion}<//>
      <${Button} kind="danger" onClick=${() => setAsks('remove')}>${t.remove}<//>
    </div>
    <br />
    ${asks === 'publish' && html`<${Publish} library=${library} again=${again} onClose=${() => setAsks(null)} />`}
    ${
      asks === 'remove' &&
      html`
        <${Confirm}
          title=${t.removeQuestion(library.namespace)}
          action=${t.remove}
          isDangerous
          onClose=${() => setAsks(null)}
          work=${async () => {
            await client.delete(address)
            say(t.removed(library.namespace))
            go(to('settings', 'libraries'))
          }}
        >
          ${t.expressionsThatUseItFailFromThe}
        <//>
      `
    }
  `
}

type VersionsProps = {of: PagedRows<Version>; address: string; again: () => void; mayRestore: boolean}

const Versions = ({of, address, again, mayRestore}: VersionsProps) => {
  const restore = useDoing(async (versionNumber: number) => {
    await client.post(`${address}/versions/${versionNumber}/restore`)
    say(t.restoredVAsTheNewestVersion(versionNumber))
    again()
  })
  const columns = [
    {
      head: t.version,
      isName: true,
      cell: ({version, versionNumber, restoredFrom}: Version) =>
        `v${versionNumber}: ${version}${restoredFrom ? t.restoredFromV(restoredFrom) : ''}`,
    },
    {head: t.published, cell: ({publishedAt}: Version) => at(publishedAt)},
    {head: t.by, cell: ({publishedBy}: Version) => publishedBy ?? t.deletedUser},
    {
      head: '',
      label: t.actions,
      cell: ({versionNumber}: Version) =>
        mayRestore &&
        versionNumber !== of.first.data?.rows[0]?.versionNumber &&
        html`<${Button} kind="quiet" isBusy=${restore.isBusy} onClick=${() => restore.run(versionNumber)}>${t.restore}<span class="unseen"> v${versionNumber}</span><//>`,
    },
  ]
  return html`<${Problem} error=${restore.error} /><${PagedTable} of=${of} caption=${t.versions} columns=${columns} keyOf=${({versionNumber}: Version) => String(versionNumber)} />`
}
