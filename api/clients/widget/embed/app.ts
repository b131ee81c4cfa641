import type {ComponentType} from 'preact'
import {useEffect, useRef} from 'preact/hooks'
import {ApiError} from '../../http.ts'
import {html} from '../html.ts'
import {findPage, type PageProps} from '../pages.ts'
import {askHostForToken, type EmbedSession, embed, embedToken, holdEmbedToken} from '../state/embed.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {go, place} from '../state/place.ts'
import {client, ended, enterEmbedded, me} from '../state/session.ts'
import {settings} from '../state/settings.ts'
import {t} from '../text/embed.ts'
import {Button} from '../ui/button.ts'
import {Notice, Problem, Toasts} from '../ui/notice.ts'
import {ConnectFirst, isConnected, readSession} from './connect-first.ts'
import {EmbedMatch} from './match.ts'
import {EmbedStart} from './start.ts'

/** The root of an embedded import: the steps from a file to its results, without the rest of the widget. */
export const EmbedApp = () => {
  const begin = useDoing(beginSession)
  useEffect(() => void begin.run(), [])
  if (!settings.embed || parent === window) return html`<main class="embedded"><${Notice} title=${t.notHere}>${t.notHereWhy}<//></main>`
  return html`
    <${Toasts} />
    <main class="embedded" id="main" tabindex="-1">
      ${begin.error && html`<${Problem} error=${describeStart(begin.error)} title=${t.couldNotStart} again=${() => begin.run()} />`}
      ${!begin.error && me.value === undefined && html`<p class="loading" role="status">${t.loading}</p>`}
      ${!begin.error && me.value === null && html`<${Notice} kind="warning" title=${t.sessionEnded} actions=${html`<${Button} isBusy=${begin.isBusy} onClick=${() => begin.run()}>${t.startAgain}<//>`}>${ended.value} ${t.runsGoOn}<//>`}
      ${!begin.error && me.value && embed.value && (isConnected(embed.value) ? html`<${Here} />` : html`<${ConnectFirst} />`)}
    </main>
  `
}

/**
 * Gets a token from the embedding page and begins its session. A new token cannot read the imports of an earlier token, so the page returns to
 * the first step.
 */
const beginSession = async () => {
  if (!settings.embed || parent === window) return
  const isAgain = embedToken() !== null
  holdEmbedToken(await askHostForToken())
  const session = await client.get<EmbedSession>('/auth/embed')
  if (session.origin !== settings.embed.origin || session.template.id !== settings.embed.template) throw new Error(t.otherToken)
  if (isAgain || place.value.path.length > 0) go('#/', {replace: true})
  enterEmbedded(session)
}

const describeStart = (error: unknown) =>
  error instanceof Error && !(error instanceof ApiError) && error.message === '' ? new Error(t.noToken) : error

type EmbedPage = ComponentType<PageProps>
const steps = ['imports/:id/review', 'imports/:id/run', 'imports/:id/results']

/** Renders the step that the URL names. Every other URL shows the first step. */
const Here = () => {
  const {path} = place.value
  const found = findPage(path)
  const {data, error} = useLoad<{pattern: string; Shown: EmbedPage} | null>(
    async () => (found && steps.includes(found.pattern) ? {pattern: found.pattern, Shown: await found.load()} : null),
    [found?.pattern],
  )
  const isStart = !found || ![...steps, 'imports/:id/match'].includes(found.pattern)
  const isFirst = useRef(true)
  useEffect(() => {
    // The app has just read the session when its first view opens. Later start views read it again, because imports may have used rows.
    const isRead = isFirst.current
    isFirst.current = false
    if (isRead || !isStart) return
    const gone = new AbortController()
    void readSession(gone.signal)
    return () => gone.abort()
  }, [isStart])
  if (error) return html`<${Problem} error=${error} again=${() => location.reload()} />`
  if (isStart || !found) return html`<${EmbedStart} />`
  if (found.pattern === 'imports/:id/match') return html`<${EmbedMatch} key=${found.params.id} params=${found.params} />`
  if (data?.pattern !== found.pattern) return html`<p class="loading" role="status">${t.loading}</p>`
  return html`<${data.Shown} key=${found.pattern} params=${found.params} />`
}
