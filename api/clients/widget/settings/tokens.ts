import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {client, inOrg, may} from '../state/session.ts'
import {t} from '../text/settings.ts'
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
  {value: '30', label: t.days30},
  {value: '90', label: t.days90},
  {value: '365', label: t.year1},
  {value: '', label: t.noExpiry},
]
const dayMs = 86_400_000

export const Tokens = () => {
  const tokens = useLoad<Token[]>(async signal => (await client.get(inOrg('/tokens'), {}, signal)).tokens, [])
  const [revoking, setRevoking] = useState<Token | null>(null)
  return html`
    <${SettingsFrame} title=${t.apiTokens} lead=${t.forTheCommandLineCiAndOther}>
      ${may('admin', 'person') && html`<${Mint} again=${tokens.again} />`}
      <${Closed} role="admin" change="person" />
      <h2>${t.tokens}</h2>
      <${Shown} of=${tokens}>
        ${(list: Token[]) => html`<${Table} caption=${t.apiTokens} columns=${columnsOf(setRevoking)} rows=${list} keyOf=${({id}: Token) => id} empty=${t.noTokensYet} />`}
      <//>
      ${
        revoking &&
        html`
          <${Confirm}
            title=${t.revokeQuestion(revoking.name)}
            action=${t.revoke}
            isDangerous
            onClose=${() => setRevoking(null)}
            work=${async () => {
              await client.delete(inOrg(`/tokens/${revoking.id}`))
              say(t.revoked(revoking.name))
              tokens.again()
            }}
          >
            ${t.programsThatUseItAreRefusedFrom}
          <//>
        `
      }
    <//>
  `
}

const columnsOf = (revoke: (token: Token) => void) => [
  {head: t.name, isName: true, cell: ({name}: Token) => name},
  {head: t.prefix, cell: ({prefix}: Token) => html`<code>${prefix}…</code>`},
  {head: t.created, cell: ({createdAt}: Token) => onDay(createdAt)},
  {head: t.lastUsed, cell: ({lastUsedAt}: Token) => (lastUsedAt ? at(lastUsedAt) : t.never)},
  {head: t.state, cell: stateOf},
  {
    head: '',
    label: t.actions,
    cell: (token: Token) =>
      !token.revokedAt &&
      may('admin', 'person') &&
      html`<${Button} kind="quiet" onClick=${() => revoke(token)}>${t.revoke}<span class="unseen"> ${token.name}</span><//>`,
  },
]

const stateOf = ({revokedAt, expiresAt}: Token) => {
  if (revokedAt) return html`<${Pill} tone="bad">${t.revokedOn(onDay(revokedAt))}<//>`
  if (expiresAt && Date.parse(expiresAt) < Date.now()) return html`<${Pill} tone="bad">${t.expiredOn(onDay(expiresAt))}<//>`
  return html`<${Pill} tone="good">${expiresAt ? t.until(onDay(expiresAt)) : t.noExpiry}<//>`
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
        <${Notice} kind="good" title=${t.copyYourNewTokenNowItIs}>
          <${Copy} text=${secret} label=${t.theToken} />
        <//>
      `
    }
    <form class="sheet settings-form" onSubmit=${submit}>
      <${TextField} label=${t.name} hint=${t.thePurposeOfTheTokenForExample} required maxlength="100" value=${name} onInput=${setName} />
      <${Select} label=${t.expiresAfter} value=${days} options=${terms} onChange=${setDays} />
      <${Problem} error=${doing.error} />
      <${Button} kind="main" type="submit" isBusy=${doing.isBusy}>${t.createToken}<//>
    </form>
  `
}
