import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {rememberDataCentre, usualDataCentre} from '../sign-in.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {missingScopes} from '../state/missing-scopes.ts'
import {to} from '../state/place.ts'
import {askForConnection} from '../state/pop-up.ts'
import {may, me} from '../state/session.ts'
import {t} from '../text/schedules.ts'
import {Button} from '../ui/button.ts'
import {Notice, Problem, say} from '../ui/notice.ts'
import {AwaitDiscovery} from './await-discovery.ts'
import {readDiscovery, startDiscovery} from './discovery.ts'
import type {Connection} from './list.ts'

/** The connections for which this tab has found a discovery. */
const discovered = new Set<string>()

type StateProps = {connections: readonly Connection[]; again: () => void}

/** Says what the org needs before it can import: a connection, or the discovery of one. If nothing is missing, renders nothing. */
export const ConnectionState = ({connections, again}: StateProps) => {
  const connected = connections.filter(({state}) => state === 'connected')
  if (connected.length === 0) return html`<${NoConnection} isFirst=${connections.length === 0} again=${again} />`
  return html`${connected.map(({id}) => html`<${Discovering} key=${id} connection=${id} />`)}`
}

/** Shows the progress of the first discovery of a connection. A failed request is not reported, because the page works without it. */
const Discovering = ({connection}: {connection: string}) => {
  const [isRead, setRead] = useState(discovered.has(connection))
  const onRead = () => {
    discovered.add(connection)
    setRead(true)
  }
  const {data} = useLoad(
    async signal => {
      const found = isRead || (await readDiscovery(connection, signal)) !== null
      if (found) onRead()
      return found
    },
    [connection],
  )
  return !isRead && data === false ? html`<${AwaitDiscovery} connection=${connection} onRead=${onRead} />` : null
}

const NoConnection = ({isFirst, again}: {isFirst: boolean; again: () => void}) => {
  const connect = useDoing(async () => {
    const dc = usualDataCentre()
    const id = await askForConnection(me.value!.org!.id, {dc, name: me.value!.org!.name})
    rememberDataCentre(dc)
    missingScopes.value = []
    say(t.yourCrmIsConnected)
    await startDiscovery(id).finally(again)
  })
  if (!may('admin', 'access')) return html`<${Notice} title=${t.noCrmIsConnected}>${t.askAnAdminOfYourOrganisationTo}<//>`
  if (!isFirst)
    return html`<${Notice} kind="warning" title=${t.noCrmIsConnected}><a href=${to('connections')}>${t.connectItAgain}</a> ${t.toImport}<//>`
  const button = html`<${Button} kind="main" isBusy=${connect.isBusy} onClick=${() => connect.run()}>${connect.isBusy ? t.continueInTheSignInWindow : t.connectYourCrm}<//>`
  return html`
    <${Notice} kind=${missingScopes.value.length > 0 ? 'warning' : 'info'} title=${t.yourCrmIsNotConnectedYet}>
      ${missingScopes.value.length > 0 && html`${t.theCrmDidNotGrant(missingScopes.value.join(', '))} `}
      ${t.importsNeedTheConsentOfACrm}
      <p class="gap-above">${button}</p>
    <//>
    <${Problem} error=${connect.error} />
  `
}
