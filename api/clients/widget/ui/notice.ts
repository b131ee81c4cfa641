import {signal} from '@preact/signals'
import {useState} from 'preact/hooks'
import {ApiError, Unreachable} from '../../http.ts'
import {html, type Markup} from '../html.ts'
import {to} from '../state/place.ts'
import {signInAgain} from '../state/sign-in-again.ts'
import {messageOf} from '../text/errors.ts'
import {t} from '../text/shell.ts'
import {duration} from './format.ts'

type Kind = 'info' | 'good' | 'warning' | 'bad'

/** A message box in a page. It is not a notice in the sense of the glossary. */
export const Notice = ({
  kind = 'info',
  title,
  children,
  actions,
}: {
  kind?: Kind
  title?: Markup
  children?: Markup
  actions?: Markup
}) => html`
  <div class=${`notice ${kind}`} role=${kind === 'bad' ? 'alert' : undefined}>
    <div class="grow">
      ${title && html`<strong>${title}</strong>`}
      ${children && html`<div>${children}</div>`}
    </div>
    ${actions && html`<div class="actions">${actions}</div>`}
  </div>
`

/** The code of an error, which support and programs use. It is hidden until "Details" is opened. */
export const CodeDetails = ({code}: {code: string}) =>
  html`<details class="code-details"><summary>${t.details}</summary><code class="code">${code}</code></details>`

/** Shows an error with its code and the time to wait. `again` repeats the failed action. */
export const Problem = ({error, again, title}: {error: unknown; again?: () => void; title?: string}) => {
  if (!error) return null
  const {message, code, wait, issues} = describe(error)
  if (code === 'RECENT_SIGN_IN_REQUIRED') return html`<${SignInAgain} message=${message} code=${code} again=${again} />`
  const actions = again && html`<button type="button" class="button" onClick=${again}>${t.tryAgain}</button>`
  return html`
    <${Notice} kind="bad" title=${title ?? null} actions=${actions}>
      <p>${message}${wait}</p>
      ${code === 'FAILED_FILE' && html`<p><a href=${correctionsOf(error as ApiError)}>${t.goToTheResultsOfThatRun}</a></p>`}
      ${issues.length > 0 && html`<ul>${issues.map(issue => html`<li>${issue}</li>`)}</ul>`}
      ${code && html`<${CodeDetails} code=${code} />`}
    <//>
  `
}

/** Returns the link to the results of the run whose failed rows the uploaded file contains. */
const correctionsOf = ({body}: ApiError) => to('imports', body.correctedImport, 'results', {run: body.correctedRun})

/** Asks for a new sign-in if an action needs a recent one. Then it calls `again`, or asks the person to submit again. */
const SignInAgain = ({message, code, again}: {message: string; code: string; again?: () => void}) => {
  const [failure, setFailure] = useState<unknown>(null)
  const [isDone, setDone] = useState(false)
  const act = async () => {
    setFailure(null)
    try {
      await signInAgain()
      setDone(true)
      again?.()
    } catch (error) {
      setFailure(error)
    }
  }
  if (isDone) return html`<${Notice} kind="good">${t.youAreSignedInAgain}${!again && ` ${t.submitAgain}`}<//>`
  return html`
    <${Notice}
      kind="warning"
      title=${t.signInAgainToContinue}
      actions=${html`<button type="button" class="button" onClick=${act}>${t.signInAgain}</button>`}
    >
      <p>${message}</p>
      <${CodeDetails} code=${code} />
    <//>
    <${Problem} error=${failure} />
  `
}

const describe = (error: unknown): {message: string; code: string | null; wait: string; issues: Markup[]} => {
  if (error instanceof ApiError) {
    const wait = error.retryAfterMs === null ? '' : `. ${t.tryAgainIn(duration(error.retryAfterMs))}`
    const issues = Array.isArray(error.body?.issues) ? error.body.issues.slice(0, 10).map(sayIssue) : []
    return {message: messageOf(error), code: error.code, wait, issues}
  }
  if (error instanceof Unreachable) return {message: t.serverUnreachable, code: null, wait: '', issues: []}
  return {message: error instanceof Error ? error.message : String(error), code: null, wait: '', issues: []}
}

const sayIssue = ({path = [], message}: {path?: (string | number)[]; message: string}): Markup =>
  html`${message}${path.length > 0 && html` <code class="code">${path.map(part => (typeof part === 'number' ? part + 1 : part)).join(' › ')}</code>`}`

const toast = signal<{id: number; text: string} | null>(null)
const shownMs = 4000
let last = 0

/** Shows a short message for 4 seconds and announces it to screen readers. It replaces the previous message. */
export const say = (text: string): void => {
  const id = ++last
  toast.value = {id, text}
  setTimeout(() => {
    if (toast.value?.id === id) toast.value = null
  }, shownMs)
}

export const Toasts = () => html`
  <div class="toasts" role="status" aria-live="polite" style=${{bottom: toast.value ? aboveBar() : ''}}>${toast.value && html`<p key=${toast.value.id} class="toast">${toast.value.text}</p>`}</div>
`

/** Returns the CSS `bottom` that keeps the toast above the save bar, whose height varies. Empty without a save bar. */
const aboveBar = (): string => {
  const bar = document.querySelector('.save-bar')
  return bar ? `calc(${Math.max(0, innerHeight - bar.getBoundingClientRect().top)}px + 0.5rem)` : ''
}
