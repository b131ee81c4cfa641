import type {Refusal} from '../shared/errors.ts'
import type {Outcome} from '../shared/people/sign-in.ts'
import {inText, page} from './html.ts'
import type {Reply} from './reply.ts'

/** Hands the outcome to the window that opened this one, at the origin the sign-in began with and at no other. */
export const outcomePage = ({origin, message}: Extract<Outcome, {message: object}>): Reply =>
  page({
    title: 'Done',
    content: `
<p id="done">You can close this window and go on where you came from.</p>
<p id="alone" hidden>This window does not know the page it came from, so nothing was handed over. Close it and start again from there.</p>
<script type="application/json" id="message">${inScript(message)}</script>
<script type="application/json" id="origin">${inScript(origin)}</script>
<script nonce="NONCE">
const read = id => JSON.parse(document.getElementById(id).textContent)
history.replaceState(null, '', location.pathname)
if (window.opener) {
  window.opener.postMessage(read('message'), read('origin'))
  window.close()
} else {
  document.getElementById('done').hidden = true
  document.getElementById('alone').hidden = false
}
</script>`,
  })

export const refusalPage = ({status, message, code}: Pick<Refusal, 'status' | 'message'> & {code: string}): Reply =>
  page({status, title: 'That did not work', content: `<p>${inText(message)}.</p>\n<p><small>${inText(code)}</small></p>`})

/** JSON that cannot end the script element it stands in. */
const inScript = (value: unknown) => JSON.stringify(value).replaceAll('<', '\\u003c')
