import {useEffect, useRef, useState} from 'preact/hooks'
import type {Json} from '../http.ts'
import {html} from './html.ts'
import {useDoing, useLoad} from './state/load.ts'
import {askForSession} from './state/pop-up.ts'
import {client, ended, openSession, renewSession} from './state/session.ts'
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
  local: 'Stand-in on this computer',
  'local-eu': 'Stand-in on this computer, second data centre',
}

export const dataCentreOptions = settings.dataCentres.map(dc => ({value: dc, label: names[dc] ?? dc}))

/** The stand-in exists on a developer's machine only, where it is what is wanted. */
export const usualDataCentre = (): string => {
  const kept = localStorage.getItem(key)
  if (kept && settings.dataCentres.includes(kept)) return kept
  return settings.dataCentres.includes('local') ? 'local' : settings.dataCentres[0]!
}

export const SignIn = () => {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = 'Sign in · Lading'
    // The page that had the focus is gone, not by the person's own doing.
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
      <p class="lead">Carries rows from files into your CRM, and can say of each what became of it.</p>
      ${ended.value && html`<${Notice} kind="warning" title="Sign in again">${ended.value}. What you were doing is kept.<//>`}
      <form
        onSubmit=${(event: Event) => {
          event.preventDefault()
          doing.run()
        }}
      >
        <${Select} label="Data centre of your CRM" hint="Where your CRM account lives: the ending of its address" value=${dc} onChange=${setDc} options=${dataCentreOptions} />
        <${Button} kind="main" type="submit" isBusy=${doing.isBusy}>${doing.isBusy ? 'Go on in the other window …' : 'Sign in with your CRM account'}<//>
      </form>
      <${Problem} error=${doing.error} />
    </main>
  `
}

type Invitation = {id: string; org: {id: string; name: string}; role: string}

/** Signed in and in no org: somebody may have invited this person. */
export const NoOrg = ({onLeave}: {onLeave: () => void}) => {
  const invitations = useLoad<Invitation[]>(async () => (await client.get<Json>('/auth/invitations')).invitations, [])
  const accept = useDoing(async (id: string) => {
    await client.post(`/auth/invitations/${id}/accept`)
    await renewSession()
  })
  return html`
    <main class="alone">
      <h1>No organisation yet</h1>
      <p class="lead">You are signed in, and belong to no organisation here.</p>
      <${Shown} of=${invitations}>
        ${(list: Invitation[]) =>
          list.length === 0
            ? html`<p>Ask an administrator of yours to invite you, or sign in with the account of your CRM.</p>`
            : html`<ul class="plain">${list.map(({id, org, role}) => html`<li class="row"><span class="grow"><strong>${org.name}</strong> invites you as ${role}</span> <${Button} kind="main" isBusy=${accept.isBusy} onClick=${() => accept.run(id)}>Accept<//></li>`)}</ul>`}
      <//>
      <${Problem} error=${accept.error} />
      <${Button} onClick=${onLeave}>Sign out<//>
    </main>
  `
}
