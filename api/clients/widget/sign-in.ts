import {useEffect, useState} from 'preact/hooks'
import {html} from './html.ts'
import {ReceivedInvitations, useReceivedInvitations} from './received-invitations.ts'
import {useDoing} from './state/load.ts'
import {missingScopes} from './state/missing-scopes.ts'
import {askForSession} from './state/pop-up.ts'
import {openSession} from './state/session.ts'
import {settings} from './state/settings.ts'
import {t} from './text/shell.ts'
import {Button} from './ui/button.ts'
import {Select} from './ui/field.ts'
import {Logo, productName} from './ui/logo.ts'
import {Problem} from './ui/notice.ts'
import {Shown} from './ui/page.ts'

const key = 'lading.dc'
const names: Record<string, string> = {
  us: t.unitedStatesZohoCom,
  eu: t.europeZohoEu,
  in: t.indiaZohoIn,
  au: t.australiaZohoComAu,
  jp: t.japanZohoJp,
  ca: t.canadaZohocloudCa,
  cn: t.chinaZohoComCn,
  sa: t.saudiArabiaZohoSa,
  uk: t.unitedKingdomZohoUk,
  ae: t.unitedArabEmiratesZohoAe,
  local: t.localTestCrm,
  'local-eu': t.localTestCrmSecondDataCentre,
}

export const dataCentreOptions = settings.dataCentres.map(dc => ({value: dc, label: names[dc] ?? dc}))

/** The likely data centre by a prefix of the browser's time zone. If the guess is wrong, the CRM itself redirects the person. */
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

/**
 * Returns the preselected data centre: the last used, else `local` (a developer's test CRM), else the likely one. A data centre that this server does
 * not offer is skipped. If no candidate is left, returns the first data centre of the server.
 */
export const usualDataCentre = (): string => {
  const wanted = [localStorage.getItem(key), 'local', guessDataCentre()]
  return wanted.find(dc => dc && settings.dataCentres.includes(dc)) ?? settings.dataCentres[0]!
}

export const rememberDataCentre = (dc: string) => localStorage.setItem(key, dc)

export const SignIn = () => {
  useEffect(() => {
    document.title = t.signInTitle
  }, [])
  const [dc, setDc] = useState(usualDataCentre())
  const doing = useDoing(async (connects: boolean) => {
    rememberDataCentre(dc)
    missingScopes.value = await askForSession(dc, {connects})
    await openSession()
  })
  return html`
    <main class="alone">
      <h1><${Logo} />${productName}</h1>
      <p class="lead">${t.purpose}</p>
      <form
        onSubmit=${(event: Event) => {
          event.preventDefault()
          doing.run(true)
        }}
      >
        <${Button} kind="main" type="submit" isBusy=${doing.isBusy}>${doing.isBusy ? t.continueInTheSignInWindow : t.continueWithYourCrm}<//>
        <${Region} dc=${dc} onChange=${setDc} />
      </form>
      <${Problem} error=${doing.error} />
      ${doing.error && html`<p class="hint">${t.youCanAlso} <${Button} kind="quiet" onClick=${() => doing.run(false)}>${t.signInWithoutConnecting}<//>${t.adminConnectsLater}</p>`}
    </main>
  `
}

/** Shows the region of the CRM if there are several. The list of regions opens on request, because few people change the region. */
const Region = ({dc, onChange}: {dc: string; onChange: (dc: string) => void}) => {
  const [isOpen, setOpen] = useState(false)
  if (settings.dataCentres.length < 2) return null
  if (isOpen)
    return html`<div class="gap-above"><${Select} label=${t.regionOfYourCrm} hint=${t.regionHint} value=${dc} onChange=${onChange} options=${dataCentreOptions} /></div>`
  return html`<p class="hint">${t.region} ${names[dc] ?? dc} <${Button} kind="quiet" onClick=${() => setOpen(true)}>${t.otherRegion}<//></p>`
}

export const NoOrg = ({onLeave}: {onLeave: () => void}) => {
  const {received, accept} = useReceivedInvitations()
  return html`
    <main class="alone">
      <h1>${t.noOrganisationYet}</h1>
      <p class="lead">${t.signedInWithoutOrg}</p>
      <${Shown} of=${received}>
        ${(invitations: NonNullable<typeof received.data>) =>
          invitations.length === 0
            ? html`<p>${t.askForInvitation}</p>`
            : html`<${ReceivedInvitations} invitations=${invitations} accept=${accept} />`}
      <//>
      <${Button} onClick=${onLeave}>${t.signOut}<//>
    </main>
  `
}
