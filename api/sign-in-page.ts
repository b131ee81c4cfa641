import type {SignInOutcome} from '../shared/accounts/sign-in.ts'
import type {Config} from '../shared/config.ts'
import type {Refusal} from '../shared/errors.ts'
import {inText, page} from './html.ts'
import type {Reply} from './reply.ts'
import {keepSession} from './session-cookie.ts'

/**
 * Returns the page that posts the outcome to the window that opened it. Only the origin that started the sign-in can receive it. Without an
 * opener, a sign-in by cookie continues on the start page of that origin. Any other outcome is lost, and the page says so.
 */
export const outcomePage = (config: Config, {origin, message, cookie}: Extract<SignInOutcome, {message: object}>): Reply =>
  page({
    title: 'Done',
    headers: cookie === null ? {} : {'set-cookie': keepSession(config, cookie)},
    content: `
<p id="done">You can close this window and return to the page you came from.</p>
<p id="alone" hidden>This window lost the page that opened it, so the sign-in was not completed. Close it and start again from that page.</p>
<script type="application/json" id="message">${inScript(message)}</script>
<script type="application/json" id="origin">${inScript(origin)}</script>
<script nonce="NONCE">
const read = id => JSON.parse(document.getElementById(id).textContent)
history.replaceState(null, '', location.pathname)
if (window.opener) {
  window.opener.postMessage(read('message'), read('origin'))
  window.close()
} else if (read('message').type === 'lading:signed-in') {
  location.replace(read('origin') + '/')
} else {
  document.getElementById('done').hidden = true
  document.getElementById('alone').hidden = false
}
</script>`,
  })

export const refusalPage = ({status, message, code}: Pick<Refusal, 'status' | 'message'> & {code: string}): Reply =>
  page({status, title: 'Something went wrong', content: `<p>${inText(message)}.</p>\n<p><small>${inText(code)}</small></p>`})

/** Formats JSON so that it cannot close the surrounding script element. It also escapes `NONCE`, which the page would replace in a token. */
const inScript = (value: unknown) => JSON.stringify(value).replaceAll('<', '\\u003c').replaceAll('NONCE', 'N\\u004fNCE')
