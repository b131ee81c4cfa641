import {useState} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {client, inOrg, may} from '../state/session.ts'
import {t} from '../text/notices.ts'
import {Button} from '../ui/button.ts'
import {Copy} from '../ui/copy.ts'
import {Confirm, Dialog} from '../ui/dialog.ts'
import {Select, TextField} from '../ui/field.ts'
import {at} from '../ui/format.ts'
import {Notice, Problem, say} from '../ui/notice.ts'
import {Shown} from '../ui/page.ts'
import {Pill, type Tone} from '../ui/pill.ts'
import {Table} from '../ui/table.ts'
import {sayKind} from './notice-kinds.ts'

type Kind = 'json' | 'slack' | 'teams'
type Endpoint = {
  id: string
  kind: Kind
  url: string
  description: string
  enabled: boolean
  disabledReason: string | null
  failingSince: string | null
}
type Delivery = {
  id: string
  kind: string
  state: string
  attempts: number
  lastStatus: number | null
  lastError: string | null
  createdAt: string
}
type ListProps = {list: Endpoint[]; again: () => void}

export const Webhooks = ({list, again}: ListProps) => {
  const [shown, setShown] = useState<Endpoint | null>(null)
  const [leaving, setLeaving] = useState<Endpoint | null>(null)
  return html`
    <h2>${t.webhooks}</h2>
    <${EndpointTable} list=${list} again=${again} show=${setShown} remove=${setLeaving} />
    ${may('admin', 'access') && html`<${Add} again=${again} />`}
    ${shown && html`<${Deliveries} endpoint=${shown} onClose=${() => setShown(null)} />`}
    ${
      leaving &&
      html`
        <${Confirm}
          title=${t.removeThisWebhook}
          action=${t.remove}
          isDangerous
          onClose=${() => setLeaving(null)}
          work=${async () => {
            await client.delete(inOrg(`/webhooks/${leaving.id}`))
            again()
          }}
        >
          ${t.ladingStopsSendingNoticesToAnd(leaving.url)}
        <//>
      `
    }
  `
}

type TableProps = ListProps & {show: (endpoint: Endpoint) => void; remove: (endpoint: Endpoint) => void}

const EndpointTable = ({list, again, show, remove}: TableProps) => {
  const test = useDoing(async ({id}: Endpoint) => {
    await client.post(inOrg(`/webhooks/${id}/test`))
    say(t.testSent)
  })
  const turn = useDoing(async ({id, enabled}: Endpoint) => {
    await client.patch(inOrg(`/webhooks/${id}`), {enabled: !enabled})
    say(enabled ? t.webhookDisabled : t.webhookEnabled)
    again()
  })
  const columns = [
    {
      head: t.url,
      isName: true,
      cell: ({url, description}: Endpoint) => html`${url}${description && html`<br /><span class="quiet">${description}</span>`}`,
    },
    {head: t.endpointKind, cell: ({kind}: Endpoint) => t.endpointKinds[kind]},
    {head: t.state, cell: stateOf},
    {
      head: '',
      label: t.actions,
      cell: (endpoint: Endpoint) => html`
        <${Button} kind="quiet" onClick=${() => show(endpoint)}>${t.deliveries}${of(endpoint)}<//>
        ${may('admin') && endpoint.enabled && html`<${Button} kind="quiet" isBusy=${test.isBusy} onClick=${() => test.run(endpoint)}>${t.test}${of(endpoint)}<//>`}
        ${may('admin', 'access') && html`<${Button} kind="quiet" isBusy=${turn.isBusy} onClick=${() => turn.run(endpoint)}>${endpoint.enabled ? t.disable : t.enable}${of(endpoint)}<//>`}
        ${may('admin', 'access') && html`<${Button} kind="quiet" onClick=${() => remove(endpoint)}>${t.remove}${of(endpoint)}<//>`}
      `,
    },
  ]
  return html`
    <${Problem} error=${test.error ?? turn.error} />
    <${Table} caption=${t.webhooks} columns=${columns} rows=${list} keyOf=${({id}: Endpoint) => id} empty=${t.noWebhooksYet} />
  `
}

/** The URL of the webhook endpoint that a button belongs to, as a text for screen readers only. */
const of = ({url}: Endpoint) => html`<span class="unseen"> ${url}</span>`

const stateOf = ({enabled, disabledReason, failingSince}: Endpoint) => {
  if (!enabled) return html`<${Pill} tone="bad">${t.off}<//> <span class="quiet">${disabledReason ?? ''}</span>`
  return failingSince ? html`<${Pill} tone="warning">${t.failingSince(at(failingSince))}<//>` : html`<${Pill} tone="good">${t.on}<//>`
}

const kinds = ['json', 'slack', 'teams'] as const

const Add = ({again}: {again: () => void}) => {
  const [url, setUrl] = useState('')
  const [kind, setKind] = useState<Kind>('json')
  const [secret, setSecret] = useState<string | null>(null)
  const add = useDoing(async () => {
    const added = await client.post<Json>(inOrg('/webhooks'), {url, kind})
    setSecret(kind === 'json' ? added.secret : null)
    if (kind !== 'json') say(t.webhookAdded)
    setUrl('')
    again()
  })
  const submit = (event: Event) => {
    event.preventDefault()
    add.run()
  }
  return html`
    <br />
    ${secret && html`<${Notice} kind="good" title=${t.copyTheSigningSecretNowItIs}><${Copy} text=${secret} label=${t.theSecret} /><//>`}
    <form class="sheet settings-form" onSubmit=${submit}>
      <h3>${t.addAWebhook}</h3>
      <${Select}
        label=${t.endpointKind}
        value=${kind}
        options=${kinds.map(value => ({value, label: t.endpointKinds[value]}))}
        onChange=${setKind}
      />
      <${TextField} label=${t.url} hint=${t.endpointKindHints[kind]} type="url" required value=${url} onInput=${setUrl} />
      <${Problem} error=${add.error} />
      <${Button} type="submit" isBusy=${add.isBusy}>${t.add}<//>
    </form>
  `
}

const tones: Record<string, Tone> = {delivered: 'good', failed: 'bad', pending: 'info'}

const Deliveries = ({endpoint, onClose}: {endpoint: Endpoint; onClose: () => void}) => {
  const address = inOrg(`/webhooks/${endpoint.id}/deliveries`)
  const loaded = useLoad<Delivery[]>(async signal => (await client.get<Json>(address, {limit: 50}, signal)).deliveries, [address])
  const redeliver = useDoing(async (id: string) => {
    await client.post(`${address}/${id}/redeliver`)
    loaded.again()
  })
  const columns = [
    {head: t.when, isName: true, cell: ({createdAt}: Delivery) => at(createdAt)},
    {head: t.event, cell: ({kind}: Delivery) => sayKind(kind)},
    {
      head: t.state,
      cell: ({state, attempts, lastStatus, lastError}: Delivery) =>
        html`<${Pill} tone=${tones[state] ?? 'neutral'}>${t.deliveryStates[state] ?? state}<//> <span class="quiet">${attempts > 1 ? t.attempts(attempts) : ''} ${lastError ?? lastStatus ?? ''}</span>`,
    },
    {
      head: '',
      label: t.actions,
      cell: ({id, state}: Delivery) =>
        state === 'failed' &&
        may('admin') &&
        html`<${Button} kind="quiet" isBusy=${redeliver.isBusy} onClick=${() => redeliver.run(id)}>${t.redeliver}<//>`,
    },
  ]
  return html`
    <${Dialog} title=${t.deliveriesTo(endpoint.url)} onClose=${onClose}>
      <${Problem} error=${redeliver.error} />
      <${Shown} of=${loaded}>${(list: Delivery[]) => html`<${Table} caption=${t.deliveriesCaption} columns=${columns} rows=${list} keyOf=${({id}: Delivery) => id} empty=${t.noDeliveriesInTheLast30Days} />`}<//>
    <//>
  `
}
