import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {useLoad} from '../state/load.ts'
import {client} from '../state/session.ts'
import {Button} from '../ui/button.ts'
import {Confirm} from '../ui/dialog.ts'
import {onDay} from '../ui/format.ts'
import {say} from '../ui/notice.ts'
import {Shown} from '../ui/page.ts'
import {Pill} from '../ui/pill.ts'
import {Table} from '../ui/table.ts'
import {SettingsFrame} from './frame.ts'

type SignIn = {
  id: string
  isCurrent: boolean
  device: string | null
  address: string | null
  org: {name: string} | null
  signedInAt: string
  refreshedAt: string
}

const columns = [
  {
    head: 'Device',
    isName: true,
    cell: ({device, isCurrent}: SignIn) => html`${device ?? 'Unknown'} ${isCurrent && html`<${Pill} tone="good">this session<//>`}`,
  },
  {head: 'Address', cell: ({address}: SignIn) => address ?? 'Unknown'},
  {head: 'Organisation', cell: ({org}: SignIn) => org?.name ?? 'None'},
  {head: 'Signed in', cell: ({signedInAt}: SignIn) => onDay(signedInAt)},
  {head: 'Last renewed', cell: ({refreshedAt}: SignIn) => onDay(refreshedAt)},
]

/** Lists the sign-ins of the person in every org. */
export const Sessions = () => {
  const [isEnding, setEnding] = useState(false)
  const sessions = useLoad<SignIn[]>(async signal => (await client.get('/auth/sessions', {}, signal)).sessions, [])
  return html`
    <${SettingsFrame} title="Your sessions" lead="Where you are signed in. A session ends 30 days after its sign-in at the latest.">
      <${Shown} of=${sessions}>
        ${(list: SignIn[]) => html`
          <${Table} caption="Your sessions" columns=${columns} rows=${list} keyOf=${({id}: SignIn) => id} />
          ${list.length > 1 && html`<p class="gap-above"><${Button} onClick=${() => setEnding(true)}>End all other sessions<//></p>`}
        `}
      <//>
      ${
        isEnding &&
        html`
          <${Confirm}
            title="End all other sessions?"
            action="End all other sessions"
            isDangerous
            onClose=${() => setEnding(false)}
            work=${async () => {
              await client.delete('/auth/sessions')
              say('All other sessions have ended')
              sessions.again()
            }}
          >
            You are signed out everywhere else at once. API tokens keep working.
          <//>
        `
      }
    <//>
  `
}
