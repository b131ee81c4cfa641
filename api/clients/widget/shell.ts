import {useEffect} from 'preact/hooks'
import {closeMenu, modifierName, openMenu, showMenu, useShortcuts} from './commands/shortcuts.ts'
import {html, type Markup} from './html.ts'
import {OrgSwitcher} from './org-switcher.ts'
import {InvitationBanner} from './received-invitations.ts'
import {place, to} from './state/place.ts'
import {me, signOut} from './state/session.ts'
import {applyTheme, type Theme, theme} from './state/theme.ts'
import {isOutdated} from './state/update-check.ts'
import {Button} from './ui/button.ts'
import {Select} from './ui/field.ts'
import {useLostFocus} from './ui/lost-focus.ts'
import {Notice} from './ui/notice.ts'
import {Tabs} from './ui/tabs.ts'

const sections = [
  {key: 'imports', label: 'Imports'},
  {key: 'runs', label: 'Runs'},
  {key: 'templates', label: 'Templates'},
  {key: 'connections', label: 'Connections'},
  {key: 'settings', label: 'Settings'},
]

/** The frame of every page: navigation, account menu and notices. */
export const Shell = ({children}: {children?: Markup}) => {
  useLostFocus()
  useEffect(keepDroppedFiles, [])
  useShortcuts()
  return html`
  <a class="skip" href="#main" onClick=${skip}>Skip to content</a>
  <header class="top">
    <a class="brand" href="#/imports">Lading</a>
    <${Tabs} class="sections" label="Sections" tabs=${sections.map(({key, label}) => ({label, href: to(key), isHere: place.value.path[0] === key}))} />
    <${Button} kind="quiet" class="find" title=${`${modifierName} K`} aria-keyshortcuts="Control+K Meta+K" onClick=${() => showMenu()}>Find<span class="unseen"> a page or an import</span> <kbd aria-hidden="true">${modifierName} K</kbd><//>
    <${Account} />
  </header>
  ${openMenu.value && html`<${openMenu.value} onClose=${closeMenu} />`}
  <main id="main" tabindex="-1">
    <div role="status">
      ${isOutdated.value && html`<${Notice} title="Lading was updated" actions=${html`<${Button} onClick=${() => location.reload()}>Reload<//>`}>Reload to use the new version. Your drafts and uploaded parts are kept.<//>`}
    </div>
    ${me.value?.staffView && html`<${Notice} kind="warning">You are viewing this organisation as staff${me.value.staffView.write ? '' : '. This view is read-only'}.<//>`}
    <${InvitationBanner} />
    ${children}
  </main>
`
}

/** Prevents that the browser opens a file that is dropped beside a drop zone, because that would leave the widget. */
const keepDroppedFiles = () => {
  const gone = new AbortController()
  for (const type of ['dragover', 'drop'] as const) addEventListener(type, event => event.preventDefault(), {signal: gone.signal})
  return () => gone.abort()
}

const skip = (event: Event) => {
  event.preventDefault()
  document.getElementById('main')!.focus()
}

const Account = () => html`
  <details class="account" onFocusOut=${closeOutside}>
    <summary>${me.value!.user.name || me.value!.user.email}</summary>
    <div class="menu">
      <p><strong>${me.value!.org!.name}</strong><br />${me.value!.user.email}<br />${me.value!.role}</p>
      <${OrgSwitcher} />
      <${Select}
        label="Appearance"
        value=${theme.value}
        onChange=${(value: string) => applyTheme(value as Theme)}
        options=${[{value: 'system', label: 'System'}, {value: 'light', label: 'Light'}, {value: 'dark', label: 'Dark'}]}
      />
      <p><a href="/reference">API reference</a></p>
      <p><a href=${to('settings', 'members')}>Members</a></p>
      <${Button} onClick=${() => signOut()}>Sign out<//>
    </div>
  </details>
`

const closeOutside = (event: FocusEvent) => {
  const details = event.currentTarget as HTMLDetailsElement
  if (!details.contains(event.relatedTarget as Node | null) && event.relatedTarget !== null) details.open = false
}
