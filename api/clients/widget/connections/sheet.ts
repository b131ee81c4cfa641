import {useState} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {askForConnection} from '../state/pop-up.ts'
import {client, inOrg, may, me} from '../state/session.ts'
import {Button} from '../ui/button.ts'
import {Confirm, Dialog} from '../ui/dialog.ts'
import {Check, TextField} from '../ui/field.ts'
import {at, count, onDay, plural} from '../ui/format.ts'
import {Notice, Problem, say} from '../ui/notice.ts'
import {Pill, type Tone} from '../ui/pill.ts'
import {readDiscovery, runDiscovery} from './discovery.ts'
import type {Connection} from './list.ts'

const tones: Record<Connection['state'], Tone> = {connected: 'good', ended: 'bad', disconnected: 'neutral'}

type SheetProps = {connection: Connection; again: () => void}

/** One connection: its state, CRM quota, modules and actions. */
export const ConnectionSheet = ({connection, again}: SheetProps) => {
  const {id, name, state, crmUserName, createdAt, dc} = connection
  return html`
    <section class="sheet connection" aria-labelledby=${id}>
      <div class="row">
        <h2 class="grow" id=${id}>${name} <${Pill} tone=${tones[state]}>${state}<//></h2>
        ${may('admin') && state !== 'disconnected' && html`<${Deeds} connection=${connection} again=${again} />`}
      </div>
      ${state === 'ended' && html`<${Notice} kind="warning" title="The CRM revoked the consent">Connect it again to resume reading and writing.<//>`}
      ${state === 'connected' && connection.warnings.map(warning => html`<${Warning} key=${warning.code} warning=${warning} />`)}
      <dl class="facts">
        <dt>Acts as</dt>
        <dd>${crmUserName || 'REST API'} (${dc}), since ${onDay(createdAt)}</dd>
        ${state === 'connected' && html`<${CreditFacts} id=${id} /><${DiscoveryFacts} id=${id} />`}
      </dl>
      ${state === 'connected' && may('admin') && html`<${Writing} connection=${connection} again=${again} />`}
    </section>
  `
}

const Warning = ({warning: {message, modules, remedy}}: {warning: Connection['warnings'][number]}) => html`
  <${Notice} kind="warning" title=${`${message}.`}>
    ${modules.length > 0 && `Modules: ${modules.join(', ')}. `}${remedy}.
  <//>
`

const CreditFacts = ({id}: {id: string}) => {
  const loaded = useLoad<Json>(async signal => (await client.get<Json>(inOrg(`/connectors/${id}/credits`), {}, signal)).credits, [id])
  const check = useDoing(async () => {
    const {credits, notAsked} = await client.post<Json>(inOrg(`/connectors/${id}/credits/check`))
    say(
      notAsked === null
        ? `The CRM has ${count(credits.remaining)} API credits left`
        : 'The quota was refreshed moments ago. Try again in a minute',
    )
    loaded.again()
  })
  const credits = loaded.data
  return html`
    <dt>API quota</dt>
    <dd>
      ${credits && (credits.remaining === null ? 'not known yet' : `${count(credits.remaining)} left of ${credits.allowanceAtLeast ? 'at least ' : ''}${count(credits.allowance)}, as of ${at(credits.remainingAt)}`)}
      ${credits?.spent && html` <${Pill} tone="bad">used up today<//>`}
      ${may('operator') && html`<${Button} kind="quiet" isBusy=${check.isBusy} onClick=${() => check.run()}>Refresh<//>`}
      <${Problem} error=${loaded.error ?? check.error} />
    </dd>
  `
}

const DiscoveryFacts = ({id}: {id: string}) => {
  const loaded = useLoad(signal => readDiscovery(id, signal), [id])
  const read = useDoing(async () => {
    await runDiscovery(id)
    say('Modules and fields are up to date')
    loaded.again()
  })
  return html`
    <dt>Modules</dt>
    <dd>
      ${loaded.data === null && 'not read yet'}
      ${loaded.data && `${plural(loaded.data.modules.length, 'module')}, last read ${at(loaded.data.seenAt)}`}
      ${may('admin') && html`<${Button} kind="quiet" isBusy=${read.isBusy} onClick=${() => read.run()}>Refresh modules<//>`}
      ${loaded.data?.modules.map(
        ({apiName, label, unread}) =>
          unread &&
          html`<${Notice} key=${apiName} kind="warning" title=${`The fields of ${label ?? apiName} could not be read`}>${unread.message}. The last fields read stay in use. Refresh the modules to try again.<//>`,
      )}
      <${Problem} error=${loaded.error ?? read.error} />
    </dd>
  `
}

const Writing = ({connection: {id, writesPaused}, again}: SheetProps) => {
  const change = useDoing(async (paused: boolean) => {
    await client.patch(`${inOrg('/config/writing')}?connector=${id}`, {paused})
    say(paused ? 'Writing paused. Runs will wait' : 'Writing resumed')
    again()
  })
  return html`
    <${Check}
      label="Pause writing"
      hint="While paused, nothing is written through this connection, and active runs wait."
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
    await askForConnection(me.value!.org!.id, {dc, name})
    say(`${name} is connected again`)
    again()
  })
  return html`
    <div class="actions">
      ${connection.kind === 'zoho' && may('admin', 'access') && html`<${Button} kind="quiet" isBusy=${connect.isBusy} onClick=${() => connect.run()}>Connect again<//>`}
      <${Button} kind="quiet" onClick=${() => setAsks('rename')}>Rename<//>
      <${Button} kind="quiet" onClick=${() => setAsks('disconnect')}>Disconnect<//>
    </div>
    <${Problem} error=${connect.error} />
    ${asks === 'rename' && html`<${Rename} connection=${connection} again=${again} onClose=${() => setAsks(null)} />`}
    ${
      asks === 'disconnect' &&
      html`
        <${Confirm}
          title=${`Disconnect ${name}?`}
          action="Disconnect"
          isDangerous
          onClose=${() => setAsks(null)}
          work=${async () => {
            await client.delete(inOrg(`/connectors/${id}`))
            say(`${name} is disconnected`)
            again()
          }}
        >
          The consent is revoked at the CRM. Runs and schedules of this connection stop. Imports, results and history stay.
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
  const actions = html`<${Button} onClick=${onClose}>Cancel<//><${Button} kind="main" isBusy=${doing.isBusy} onClick=${() => doing.run()}>Rename<//>`
  return html`
    <${Dialog} title=${`Rename ${before}`} onClose=${onClose} actions=${actions}>
      <${TextField} label="Name" required maxlength="100" value=${name} onInput=${setName} />
      <${Problem} error=${doing.error} />
    <//>
  `
}
