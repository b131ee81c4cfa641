import {useState} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import {useDoing, useLoad, useRemoved} from '../state/load.ts'
import {askForConnection} from '../state/pop-up.ts'
import {client, inOrg, may, me} from '../state/session.ts'
import {t} from '../text/schedules.ts'
import {Button} from '../ui/button.ts'
import {Confirm, Dialog} from '../ui/dialog.ts'
import {Check, TextField} from '../ui/field.ts'
import {at, count, onDay} from '../ui/format.ts'
import {Notice, Problem, say} from '../ui/notice.ts'
import {Pill, type Tone} from '../ui/pill.ts'
import {readDiscovery, runDiscovery} from './discovery.ts'
import type {Connection} from './list.ts'

const tones: Record<Connection['state'], Tone> = {connected: 'good', ended: 'bad', disconnected: 'neutral'}

type SheetProps = {connection: Connection; again: () => void}

export const ConnectionSheet = ({connection, again}: SheetProps) => {
  const {id, name, state, crmUserName, createdAt, dc} = connection
  return html`
    <section class="sheet connection" aria-labelledby=${id}>
      <div class="row">
        <h2 class="grow" id=${id}>${name} <${Pill} tone=${tones[state]}>${t.connectionStates[state] ?? state}<//></h2>
        ${may('admin') && state !== 'disconnected' && html`<${Deeds} connection=${connection} again=${again} />`}
      </div>
      ${state === 'ended' && html`<${Notice} kind="warning" title=${t.theCrmRevokedTheConsent}>${t.connectItAgainToResumeReadingAnd}<//>`}
      ${state === 'connected' && connection.warnings.map(warning => html`<${Warning} key=${warning.code} warning=${warning} />`)}
      <dl class="facts">
        <dt>${t.actsAs}</dt>
        <dd>${crmUserName || t.restApi} ${t.since(dc, onDay(createdAt))}</dd>
        ${state === 'connected' && html`<${CreditFacts} id=${id} /><${DiscoveryFacts} id=${id} />`}
      </dl>
      ${state === 'connected' && may('admin') && html`<${Writing} connection=${connection} again=${again} />`}
    </section>
  `
}

const Warning = ({warning: {message, modules, remedy}}: {warning: Connection['warnings'][number]}) => html`
  <${Notice} kind="warning" title=${`${message}.`}>
    ${modules.length > 0 && `${t.modulesOf(modules.join(', '))} `}${remedy}.
  <//>
`

const CreditFacts = ({id}: {id: string}) => {
  const loaded = useLoad<Json>(async signal => (await client.get<Json>(inOrg(`/connectors/${id}/credits`), {}, signal)).credits, [id])
  const check = useDoing(async () => {
    const {credits, notAsked} = await client.post<Json>(inOrg(`/connectors/${id}/credits/check`))
    say(notAsked === null ? t.theCrmHasApiCreditsLeft(count(credits.remaining)) : t.theQuotaWasRefreshedMomentsAgoTry)
    loaded.again()
  })
  const credits = loaded.data
  return html`
    <dt>${t.apiQuota}</dt>
    <dd>
      ${credits && (credits.remaining === null ? t.notKnownYet : (credits.allowanceAtLeast ? t.leftOfAtLeast : t.leftOf)(count(credits.remaining), count(credits.allowance), at(credits.remainingAt)))}
      ${credits?.spent && html` <${Pill} tone="bad">${t.usedUpToday}<//>`}
      ${may('operator') && html`<${Button} kind="quiet" isBusy=${check.isBusy} onClick=${() => check.run()}>${t.refresh}<//>`}
      <${Problem} error=${loaded.error ?? check.error} />
    </dd>
  `
}

const DiscoveryFacts = ({id}: {id: string}) => {
  const loaded = useLoad(signal => readDiscovery(id, signal), [id])
  const removed = useRemoved()
  const read = useDoing(async () => {
    await runDiscovery(id, {signal: removed})
    say(t.modulesAndFieldsAreUpToDate)
    loaded.again()
  })
  return html`
    <dt>${t.modulesLabel}</dt>
    <dd>
      ${loaded.data === null && t.notReadYet}
      ${loaded.data && t.modulesLastRead(loaded.data.modules.length, at(loaded.data.seenAt))}
      ${may('admin') && html`<${Button} kind="quiet" isBusy=${read.isBusy} onClick=${() => read.run()}>${t.refreshModules}<//>`}
      ${loaded.data?.modules.map(
        ({apiName, label, unread}) =>
          unread &&
          html`<${Notice} key=${apiName} kind="warning" title=${t.theFieldsOfCouldNotBeRead(label ?? apiName)}>${t.theLastFieldsReadStayInUse(unread.message)}<//>`,
      )}
      <${Problem} error=${loaded.error ?? read.error} />
    </dd>
  `
}

const Writing = ({connection: {id, writesPaused}, again}: SheetProps) => {
  const change = useDoing(async (paused: boolean) => {
    await client.patch(`${inOrg('/config/writing')}?connector=${id}`, {paused})
    say(paused ? t.writingPausedRunsWillWait : t.writingResumed)
    again()
  })
  return html`
    <${Check}
      label=${t.pauseWriting}
      hint=${t.whilePausedNothingIsWrittenThrough}
      checked=${writesPaused}
      onChange=${(paused: boolean) => change.run(paused)}
    />
    <${Problem} error=${change.error} />
  `
}

const Deeds = ({connection, again}: SheetProps) => {
  const [asks, setAsks] = useState<'rename' | 'disconnect' | null>(null)
  const {id, name, dc} = connection
  const connect = useDoing(async () => {
    const connected = await askForConnection(me.value!.org!.id, {dc, name})
    again()
    if (connected !== id) throw new Error(t.anotherWasConnected(name))
    say(t.isConnectedAgain(name))
  })
  return html`
    <div class="actions">
      ${connection.kind === 'zoho' && may('admin', 'access') && html`<${Button} kind="quiet" isBusy=${connect.isBusy} onClick=${() => connect.run()}>${t.connectAgain}<//>`}
      <${Button} kind="quiet" onClick=${() => setAsks('rename')}>${t.rename}<//>
      <${Button} kind="quiet" onClick=${() => setAsks('disconnect')}>${t.disconnect}<//>
    </div>
    <${Problem} error=${connect.error} />
    ${asks === 'rename' && html`<${Rename} connection=${connection} again=${again} onClose=${() => setAsks(null)} />`}
    ${
      asks === 'disconnect' &&
      html`
        <${Confirm}
          title=${t.disconnectQuestion(name)}
          action=${t.disconnect}
          isDangerous
          onClose=${() => setAsks(null)}
          work=${async () => {
            await client.delete(inOrg(`/connectors/${id}`))
            say(t.isDisconnected(name))
            again()
          }}
        >
          ${t.theConsentIsRevokedAtTheCrm}
        <//>
      `
    }
  `
}

const Rename = ({connection: {id, name: before}, again, onClose}: SheetProps & {onClose: () => void}) => {
  const [name, setName] = useState(before)
  const doing = useDoing(async () => {
    await client.patch(inOrg(`/connectors/${id}`), {name})
    onClose()
    again()
  })
  const actions = html`<${Button} onClick=${onClose}>${t.cancel}<//><${Button} kind="main" isBusy=${doing.isBusy} onClick=${() => doing.run()}>${t.rename}<//>`
  return html`
    <${Dialog} title=${t.renameQuestion(before)} onClose=${onClose} actions=${actions}>
      <${TextField} label=${t.name} required maxlength="100" value=${name} onInput=${setName} />
      <${Problem} error=${doing.error} />
    <//>
  `
}
