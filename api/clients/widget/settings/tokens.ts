import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {client, inOrg, may} from '../state/session.ts'
import {Button} from '../ui/button.ts'
import {Closed} from '../ui/closed.ts'
import {Copy} from '../ui/copy.ts'
import {Confirm} from '../ui/dialog.ts'
import {Select, TextField} from '../ui/field.ts'
import {at, onDay} from '../ui/format.ts'
import {Notice, Problem, say} from '../ui/notice.ts'
import {Shown} from '../ui/page.ts'
import {Pill} from '../ui/pill.ts'
import {Table} from '../ui/table.ts'
import {SettingsFrame} from './frame.ts'

type Token = {
  id: string
  name: string
  prefix: string
  createdAt: string
  createdByName?: string | null
  lastUsedAt: string | null
  expiresAt: string | null
  revokedAt: string | null
}

const terms = [
  {value: '30', label: '30 days'},
  {value: '90', label: '90 days'},
  {value: '365', label: '1 year'},
  {value: '', label: 'No expiry'},
]
const dayMs = 86_400_000

export const Tokens = () => {
  const tokens = useLoad<Token[]>(async signal => (await client.get(inOrg('/tokens'), {}, signal)).tokens, [])
  const [revoking, setRevoking] = useState<Token | null>(null)
  return html`
    <${SettingsFrame} title="API tokens" lead="For the command line, CI and other programs. A token acts as its creator, with the admin role in this organisation.">
      ${may('admin', 'person') && html`<${Mint} again=${tokens.again} />`}
      <${Closed} role="admin" change="person" />
      <h2>Tokens</h2>
      <${Shown} of=${tokens}>
        ${(list: Token[]) => html`<${Table} caption="API tokens" columns=${columnsOf(setRevoking)} rows=${list} keyOf=${({id}: Token) => id} empty="No tokens yet." />`}
      <//>
      ${
        revoking &&
        html`
          <${Confirm}
            title=${`Revoke ${revoking.name}?`}
            action="Revoke"
            isDangerous
            onClose=${() => setRevoking(null)}
            work=${async () => {
              await client.delete(inOrg(`/tokens/${revoking.id}`))
              say(`Revoked ${revoking.name}`)
              tokens.again()
            }}
          >
            Programs that use it are refused from their next request on. This cannot be undone.
          <//>
        `
      }
    <//>
  `
}

const columnsOf = (revoke: (token: Token) => void) => [
  {head: 'Name', isName: true, cell: ({name}: Token) => name},
  {head: 'Prefix', cell: ({prefix}: Token) => html`<code>${prefix}…</code>`},
  {head: 'Created', cell: ({createdAt}: Token) => onDay(createdAt)},
  {head: 'Last used', cell: ({lastUsedAt}: Token) => (lastUsedAt ? at(lastUsedAt) : 'Never')},
  {head: 'State', cell: stateOf},
  {
    head: '',
    label: 'Actions',
    cell: (token: Token) =>
      !token.revokedAt &&
      may('admin', 'person') &&
      html`<${Button} kind="quiet" onClick=${() => revoke(token)}>Revoke<span class="unseen"> ${token.name}</span><//>`,
  },
]

const stateOf = ({revokedAt, expiresAt}: Token) => {
  if (revokedAt) return html`<${Pill} tone="bad">Revoked ${onDay(revokedAt)}<//>`
  if (expiresAt && Date.parse(expiresAt) < Date.now()) return html`<${Pill} tone="bad">Expired ${onDay(expiresAt)}<//>`
  return html`<${Pill} tone="good">${expiresAt ? `Until ${onDay(expiresAt)}` : 'No expiry'}<//>`
}

const Mint = ({again}: {again: () => void}) => {
  const [name, setName] = useState('')
  const [days, setDays] = useState('90')
  const [secret, setSecret] = useState<string | null>(null)
  const doing = useDoing(async () => {
    const expiresAt = days === '' ? null : new Date(Date.now() + Number(days) * dayMs).toISOString()
    setSecret((await client.post(inOrg('/tokens'), {name, expiresAt})).secret)
    setName('')
    again()
  })
  const submit = (event: Event) => {
    event.preventDefault()
    doing.run()
  }
  return html`
    ${
      secret &&
      html`
        <${Notice} kind="good" title="Copy your new token now. It is not shown again">
          <${Copy} text=${secret} label="the token" />
        <//>
      `
    }
    <form class="sheet settings-form" onSubmit=${submit}>
      <${TextField} label="Name" hint="The purpose of the token, for example “nightly CI”" required maxlength="100" value=${name} onInput=${setName} />
      <${Select} label="Expires after" value=${days} options=${terms} onChange=${setDays} />
      <${Problem} error=${doing.error} />
      <${Button} kind="main" type="submit" isBusy=${doing.isBusy}>Create token<//>
    </form>
  `
}
