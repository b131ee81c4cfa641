import {useEffect} from 'preact/hooks'
import {closeMenu, modifierName, openMenu, showMenu, useShortcuts} from './commands/shortcuts.ts'
import {html, type Markup} from './html.ts'
import {OrgSwitcher} from './org-switcher.ts'
import {InvitationBanner} from './received-invitations.ts'
import {chooseLanguage, chosenLanguage, languageNames} from './state/language.ts'
import {place, to} from './state/place.ts'
import {me, signOut} from './state/session.ts'
import {applyTheme, type Theme, theme} from './state/theme.ts'
import {isOutdated} from './state/update-check.ts'
import type {Language} from './text/language.ts'
import {t} from './text/shell.ts'
import {Button} from './ui/button.ts'
import {mayLeave} from './ui/draft.ts'
import {Select} from './ui/field.ts'
import {sayRole} from './ui/labels.ts'
import {Logo, productName} from './ui/logo.ts'
import {useLostFocus} from './ui/lost-focus.ts'
import {Notice} from './ui/notice.ts'
import {Tabs} from './ui/tabs.ts'

const sections = [
  {key: 'imports', label: t.imports},
  {key: 'runs', label: t.runs},
  {key: 'templates', label: t.templates},
  {key: 'connections', label: t.connections},
  {key: 'settings', label: t.settings},
]

export const Shell = ({children}: {children?: Markup}) => {
  useLostFocus()
  useEffect(keepDroppedFiles, [])
  useShortcuts()
  return html`
  <a class="skip" href="#main" onClick=${skip}>${t.skipToContent}</a>
  <header class="top">
    <a class="brand" href="#/imports"><${Logo} />${productName}</a>
    <${Tabs} class="sections" label=${t.sections} tabs=${sections.map(({key, label}) => ({label, href: to(key), isHere: place.value.path[0] === key}))} />
    <${Button} kind="quiet" class="find" title=${`${modifierName} K`} aria-keyshortcuts="Control+K Meta+K" onClick=${() => showMenu()}>${t.find}<span class="unseen"> ${t.findWhat}</span> <kbd aria-hidden="true">${modifierName} K</kbd><//>
    <${Account} />
  </header>
  ${openMenu.value && html`<${openMenu.value} onClose=${closeMenu} />`}
  <main id="main" tabindex="-1">
    <div role="status">
      ${isOutdated.value && html`<${Notice} title=${t.ladingWasUpdated} actions=${html`<${Button} onClick=${() => location.reload()}>${t.reload}<//>`}>${t.reloadToUpdate}<//>`}
    </div>
    ${me.value?.staffView && html`<${Notice} kind="warning">${me.value.staffView.write ? t.viewingAsStaff : t.viewingAsStaffReadOnly}<//>`}
    <${InvitationBanner} />
    ${children}
  </main>
`
}

/** Stops the browser from opening a file that is dropped beside a drop zone, because that would leave the widget. Returns the cleanup. */
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
    <summary>${me.value!.user.name || me.value!.user.email} <span class="org-name">${me.value!.org!.name}</span></summary>
    <div class="menu">
      <p><strong>${me.value!.org!.name}</strong><br />${me.value!.user.email}<br />${sayRole(me.value!.role)}</p>
      <${OrgSwitcher} />
      <${Select}
        label=${t.appearance}
        value=${theme.value}
        onChange=${(value: string) => applyTheme(value as Theme)}
        options=${[{value: 'system', label: t.system}, {value: 'light', label: t.light}, {value: 'dark', label: t.dark}]}
      />
      <${Select}
        label=${t.language}
        value=${chosenLanguage() ?? ''}
        onChange=${(value: string) => chooseLanguage(value === '' ? null : (value as Language))}
        options=${[{value: '', label: t.languageOfBrowser}, ...Object.entries(languageNames).map(([value, label]) => ({value, label}))]}
      />
      <p><a href="/reference">${t.apiReference}</a></p>
      <p><a href=${to('settings', 'members')}>${t.members}</a></p>
      <${Button} onClick=${() => mayLeave() && signOut()}>${t.signOut}<//>
    </div>
  </details>
`

const closeOutside = (event: FocusEvent) => {
  const details = event.currentTarget as HTMLDetailsElement
  if (!details.contains(event.relatedTarget as Node | null) && event.relatedTarget !== null) details.open = false
}
