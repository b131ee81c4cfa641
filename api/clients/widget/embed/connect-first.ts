import {useEffect} from 'preact/hooks'
import {html} from '../html.ts'
import {rememberDataCentre, usualDataCentre} from '../sign-in.ts'
import {type EmbedSession, embed} from '../state/embed.ts'
import {useDoing} from '../state/load.ts'
import {askForSession} from '../state/pop-up.ts'
import {client} from '../state/session.ts'
import {settings} from '../state/settings.ts'
import {t} from '../text/embed.ts'
import {Button} from '../ui/button.ts'
import {Select} from '../ui/field.ts'
import {Notice, Problem} from '../ui/notice.ts'
import {Progress} from '../ui/progress.ts'

const lookEveryMs = 2_000

/** Whether imports can be created: the connection works, and its modules and fields are discovered. */
export const isConnected = ({connection}: EmbedSession): boolean => connection?.state === 'connected' && connection.isDiscovered

/** Reads the session again, because its connection or rows may have changed. If the request fails, the present session stays. */
export const readSession = (signal: AbortSignal): Promise<void> =>
  client
    .get<EmbedSession>('/auth/embed', {}, signal)
    .then(session => {
      embed.value = session
    })
    .catch(() => {})

/**
 * Asks an admin to connect the org to the CRM. The frame has no cookies, so the admin signs in within a pop-up, and that consent also makes the
 * connection. If the connection ended, the admin renews it on the widget's connections page instead.
 */
export const ConnectFirst = () => {
  const {org, connection} = embed.value!
  useEffect(() => {
    const gone = new AbortController()
    const timer = setInterval(() => readSession(gone.signal), lookEveryMs)
    return () => {
      clearInterval(timer)
      gone.abort()
    }
  }, [])
  const connect = useDoing(async (dc: string) => {
    rememberDataCentre(dc)
    await askForSession(dc, {connects: true})
  })
  if (connection?.state === 'connected') return html`<${Progress} label=${t.readingCrm} done=${0} total=${null} text=${t.readingCrm} />`
  if (connection)
    return html`<${Notice} kind="warning" title=${t.connectionEnded} actions=${html`<${Button} onClick=${openConnections}>${t.openConnections}<//>`}>${t.anAdminRenews(org.name)}<//>`
  return html`
    <${Notice} title=${t.notConnected} actions=${html`<${Button} kind="main" isBusy=${connect.isBusy} onClick=${() => connect.run(chosen.dc)}>${t.connectCrm}<//>`}>${t.anAdminConnects(org.name)}<//>
    ${settings.dataCentres.length > 1 && html`<${Region} />`}
    <${Problem} error=${connect.error} />
  `
}

const chosen = {dc: usualDataCentre()}

const Region = () => html`
  <${Select}
    label=${t.region}
    value=${chosen.dc}
    options=${settings.dataCentres.map(dc => ({value: dc, label: dc}))}
    onChange=${(dc: string) => {
      chosen.dc = dc
    }}
  />
`

const openConnections = () => void window.open('/#/connections', 'lading-connections', 'popup,width=900,height=720')
