import type {ComponentType} from 'preact'
import {useEffect, useState} from 'preact/hooks'
import {html} from './html.ts'
import {findPage, type PageProps} from './pages.ts'
import {SessionEnded} from './session-ended.ts'
import {Shell} from './shell.ts'
import {NoOrg, SignIn} from './sign-in.ts'
import {useLoad} from './state/load.ts'
import {place} from './state/place.ts'
import {ended, me, readMe, signOut} from './state/session.ts'
import {isOutdated, lookForUpdate} from './state/update-check.ts'
import {t} from './text/shell.ts'
import {Problem, Toasts} from './ui/notice.ts'
import {Page} from './ui/page.ts'

/** Renders the root: the sign-in, a page for people without an org, or the page of the URL. */
export const App = () => {
  const known = me.value
  const [error, setError] = useState<unknown>(null)
  const readAgain = () => {
    setError(null)
    readMe().catch(setError)
  }
  useEffect(() => {
    if (me.value === undefined) readAgain()
  }, [])
  return html`
    <${Toasts} />
    ${known === undefined && (error ? html`<main class="alone"><${Problem} error=${error} again=${readAgain} /></main>` : html`<p class="loading" role="status">${t.loading}</p>`)}
    ${known === null && html`<${SignIn} />`}
    ${known && !known.org && html`<${NoOrg} onLeave=${() => signOut()} />`}
    ${known && ended.value && html`<${SessionEnded} />`}
    ${known?.org && html`<${Shell}><${Here} key=${known.org.id} /><//>`}
  `
}

/** The code of each page is loaded on its first use. */
const Here = () => {
  const {path} = place.value
  const found = findPage(path)
  const {data, error} = useLoad<{pattern: string; Shown: ComponentType<PageProps>} | null>(
    async () => found && {pattern: found.pattern, Shown: await found.load()},
    [found?.pattern],
  )
  useEffect(() => void lookForUpdate(), [found?.pattern, error])
  // Browsers do not retry a failed script import, so the retry button reloads the whole page.
  if (error)
    return isOutdated.value
      ? null
      : html`<${Problem} error=${error} again=${() => location.reload()} title=${t.thisPageCouldNotBeLoaded} />`
  if (!found) return html`<${Page} title=${t.pageNotFound}><p><a href="#/">${t.goToImports}</a></p><//>`
  // Until the new page has loaded, `data` is still the previous one.
  if (data?.pattern !== found.pattern) return html`<p class="loading" role="status">${t.loading}</p>`
  // The key contains the parameters, so that forms of one object never show, or save, values of another.
  return html`<${data.Shown} key=${path.join('/')} params=${found.params} />`
}
