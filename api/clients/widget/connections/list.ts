import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import {useLoad} from '../state/load.ts'
import {client, inOrg, may} from '../state/session.ts'
import {t} from '../text/schedules.ts'
import {Closed} from '../ui/closed.ts'
import {Page, Shown} from '../ui/page.ts'
import {Connect} from './connect.ts'
import {ConnectionSheet} from './sheet.ts'

export type Connection = {
  id: string
  name: string
  kind: string
  dc: string
  state: 'connected' | 'ended' | 'disconnected'
  crmUserName: string
  writesPaused: boolean
  warnings: {code: string; modules: string[]; message: string; remedy: string}[]
  createdAt: string
}

export const Connections = () => {
  const loaded = useLoad<Connection[]>(async signal => (await client.get<Json>(inOrg('/connectors'), {}, signal)).connectors, [])
  return html`
    <${Page} title=${t.connections} lead=${t.theCrmAccountsThatImportsWriteTo}>
      <${Shown} of=${loaded}>
        ${(list: Connection[]) => html`
          ${list.length === 0 && html`<p class="empty">${may('admin', 'access') ? t.noConnectionsYetConnectYourCrmTo : t.noConnectionsYetAskAnAdminTo}</p>`}
          ${list.map(connection => html`<${ConnectionSheet} key=${connection.id} connection=${connection} again=${loaded.again} />`)}
          ${may('admin', 'access') && html`<${Connect} isFirst=${list.length === 0} again=${loaded.again} />`}
          <${Closed} role="admin" change="access" />
        `}
      <//>
    <//>
  `
}
