import {useEffect, useRef, useState} from 'preact/hooks'
import {html} from './html.ts'
import {ReceivedInvitations, useReceivedInvitations} from './received-invitations.ts'
import {useDoing} from './state/load.ts'
import {missingScopes} from './state/missing-scopes.ts'
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

/** The likely data centre by the prefix of the browser's time zone. The CRM itself redirects people of another one. */
const likely: Record<string, string> = {
  'Asia/Kolkata': 'in',
  'Asia/Calcutta': 'in',
  'Asia/Tokyo': 'jp',
  'Asia/Shanghai': 'cn',
  'Asia/Riyadh': 'sa',
  'Asia/Dubai': 'ae',
  'Australia/': 'au',
  'Europe/': 'eu',
}

const guessDataCentre = (): string | undefined => {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
  return Object.entries(likely).find(([start]) => zone.startsWith(start))?.[1]
}

/** Returns the default data centre: the last one used, the local test CRM of a developer, or the likely one. */
export const usualDataCentre = (): string => {
  const wanted = [localStorage.getItem(key), 'local', guessDataCentre()]
  return wanted.find(dc => dc && settings.dataCentres.includes(dc)) ?? settings.dataCentres[0]!
}

export const rememberDataCentre = (dc: string) => localStorage.setItem(key, dc)

export const SignIn = () => {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = 'Sign in · Lading'
    // If a session ended, the sign-in replaced the page without an action of the person, so the focus is moved here.
    if (ended.value) heading.current?.focus()
  }, [])
  const [dc, setDc] = useState(usualDataCentre())
  const doing = useDoing(async (connects: boolean) => {
    rememberDataCentre(dc)
    missingScopes.value = await askForSession(dc, {connects})
    await openSession()
  })
  return html`
    <main class="alone">
      <h1 ref=${heading} tabindex="-1">Lading</h1>
      <p class="lead">Import spreadsheets into your CRM and see what happened to every row.</p>
      ${ended.value && html`<${Notice} kind="warning" title="Sign in again">${ended.value}. Your drafts are kept.<//>`}
      <form
        onSubmit=${(event: Event) => {
          event.preventDefault()
          doing.run(true)
        }}
      >
        <${Button} kind="main" type="submit" isBusy=${doing.isBusy}>${doing.isBusy ? 'Continue in the sign-in window …' : 'Continue with your CRM'}<//>
        <${Region} dc=${dc} onChange=${setDc} />
      </form>
      <${Problem} error=${doing.error} />
      ${doing.error && html`<p class="hint">You can also <${Button} kind="quiet" onClick=${() => doing.run(false)}>sign in without connecting<//>. An admin can connect the CRM later.</p>`}
    </main>
  `
}

/** Shows the region of the CRM. The list of regions opens on request, because most people never change it. */
const Region = ({dc, onChange}: {dc: string; onChange: (dc: string) => void}) => {
  const [isOpen, setOpen] = useState(false)
  if (settings.dataCentres.length < 2) return null
  if (isOpen)
    return html`<div class="gap-above"><${Select} label="Region of your CRM" hint="The ending of your CRM’s web address" value=${dc} onChange=${onChange} options=${dataCentreOptions} /></div>`
  return html`<p class="hint">Region: ${names[dc] ?? dc} <${Button} kind="quiet" onClick=${() => setOpen(true)}>Other region<//></p>`
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
