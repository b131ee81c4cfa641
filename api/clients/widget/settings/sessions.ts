import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {useLoad} from '../state/load.ts'
import {client} from '../state/session.ts'
import {t} from '../text/settings.ts'
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
    head: t.device,
    isName: true,
    cell: ({device, isCurrent}: SignIn) => html`${device ?? t.unknown} ${isCurrent && html`<${Pill} tone="good">${t.thisSession}<//>`}`,
  },
  {head: t.address, cell: ({address}: SignIn) => address ?? t.unknown},
  {head: t.organisation, cell: ({org}: SignIn) => org?.name ?? t.none},
  {head: t.signedIn, cell: ({signedInAt}: SignIn) => onDay(signedInAt)},
  {head: t.lastRenewed, cell: ({refreshedAt}: SignIn) => onDay(refreshedAt)},
]

/** Lists the person's sign-ins in all orgs. */
export const Sessions = () => {
  const [isEnding, setEnding] = useState(false)
  const sessions = useLoad<SignIn[]>(async signal => (await client.get('/auth/sessions', {}, signal)).sessions, [])
  return html`
    <${SettingsFrame} title=${t.yourSessions} lead=${t.whereYouAreSignedInASession}>
      <${Shown} of=${sessions}>
        ${(list: SignIn[]) => html`
          <${Table} caption=${t.yourSessions} columns=${columns} rows=${list} keyOf=${({id}: SignIn) => id} />
          ${list.length > 1 && html`<p class="gap-above"><${Button} onClick=${() => setEnding(true)}>${t.endAllOtherSessions}<//></p>`}
        `}
      <//>
      ${
        isEnding &&
        html`
          <${Confirm}
            title=${t.endAllOtherSessionsQuestion}
            action=${t.endAllOtherSessions}
            isDangerous
            onClose=${() => setEnding(false)}
            work=${async () => {
              await client.delete('/auth/sessions')
              say(t.allOtherSessionsHaveEnded)
              sessions.again()
            }}
          >
            ${t.youAreSignedOutEverywhereElseAt}
          <//>
        `
      }
    <//>
  `
}
