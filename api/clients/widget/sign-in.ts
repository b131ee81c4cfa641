import {useEffect, useRef, useState} from 'preact/hooks'
import {html} from './html.ts'
import {ReceivedInvitations, useReceivedInvitations} from './received-invitations.ts'
import {useDoing} from './state/load.ts'
import {askForSession} from './state/pop-up.ts'
import {ended, openSession} from './state/session.ts'
import {settings} from './state/settings.ts'
import {Button} from './ui/button.ts'
import {Select} from './ui/field.ts'
import {Notice, Problem} from './ui/notice.ts'
import {Shown} from './ui/page.ts'

const key = 'lading.dc'
const names: Record<string, string> = {
  us: 'United States (zoho.com)',
  eu: 'Europe (zoho.eu)',
  in: 'India (zoho.in)',
  au: 'Australia (zoho.com.au)',
  jp: 'Japan (zoho.jp)',
  ca: 'Canada (zohocloud.ca)',
  cn: 'China (zoho.com.cn)',
  sa: 'Saudi Arabia (zoho.sa)',
  uk: 'United Kingdom (zoho.uk)',
  ae: 'United Arab Emirates (zoho.ae)',
  local: 'Local test CRM',
  'local-eu': 'Local test CRM, second data centre',
}

export const dataCentreOptions = settings.dataCentres.map(dc => ({value: dc, label: names[dc] ?? dc}))

/** Returns the default data centre: the last one used, or the local test CRM of a developer. */
export const usualDataCentre = (): string => {
  const kept = localStorage.getItem(key)
  if (kept && settings.dataCentres.includes(kept)) return kept
  return settings.dataCentres.includes('local') ? 'local' : settings.dataCentres[0]!
}

export const SignIn = () => {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = 'Sign in · Lading'
    // If a session ended, the sign-in replaced the page without an action of the person, so the focus is moved here.
    if (ended.value) heading.current?.focus()
  }, [])
  const [dc, setDc] = useState(usualDataCentre())
  const doing = useDoing(async () => {
    localStorage.setItem(key, dc)
    await openSession(await askForSession(dc))
  })
  return html`
    <main class="alone">
      <h1 ref=${heading} tabindex="-1">Lading</h1>
      <p class="lead">Import files into your CRM and see the result of every row.</p>
      ${ended.value && html`<${Notice} kind="warning" title="Sign in again">${ended.value}. Your drafts are kept.<//>`}
      <form
        onSubmit=${(event: Event) => {
          event.preventDefault()
          doing.run()
        }}
      >
        <${Select} label="Data centre of your CRM" hint="The ending of your CRM’s web address" value=${dc} onChange=${setDc} options=${dataCentreOptions} />
        <${Button} kind="main" type="submit" isBusy=${doing.isBusy}>${doing.isBusy ? 'Continue in the other window …' : 'Sign in with your CRM account'}<//>
      </form>
      <${Problem} error=${doing.error} />
    </main>
  `
}

/** The page of a signed-in person without an org, with their invitations. */
export const NoOrg = ({onLeave}: {onLeave: () => void}) => {
  const {received, accept} = useReceivedInvitations()
  return html`
    <main class="alone">
      <h1>No organisation yet</h1>
      <p class="lead">You are signed in but do not belong to an organisation.</p>
      <${Shown} of=${received}>
        ${(invitations: NonNullable<typeof received.data>) =>
          invitations.length === 0
            ? html`<p>Ask an admin of your organisation to invite you, or sign in with your CRM account.</p>`
            : html`<${ReceivedInvitations} invitations=${invitations} accept=${accept} />`}
      <//>
      <${Button} onClick=${onLeave}>Sign out<//>
    </main>
  `
}
