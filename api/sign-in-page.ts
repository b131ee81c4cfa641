import {randomBytes} from 'node:crypto'
import type {Refusal} from '../shared/errors.ts'
import type {Outcome} from '../shared/people/sign-in.ts'
import {type Reply, reply} from './reply.ts'

/** Hands the outcome to the window that opened this one, at the origin the sign-in began with and at no other. */
export const outcomePage = ({origin, message}: Outcome): Reply =>
  page(
    200,
    'Done',
    `
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
  )

export const refusalPage = ({status, message, code}: Refusal): Reply =>
  page(status, 'That did not work', `<p>${inText(message)}.</p>\n<p><small>${code}</small></p>`)

const page = (status: number, title: string, content: string) => {
  const nonce = randomBytes(16).toString('base64')
  return reply({
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    },
    body: `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style nonce="NONCE">body { font: 1rem/1.5 system-ui, sans-serif; max-width: 32rem; margin: 4rem auto; padding: 0 1rem }</style>
<h1>${title}</h1>
${content}
</html>
`.replaceAll('NONCE', nonce),
  })
}

/** JSON that cannot end the script element it stands in. */
const inScript = (value: unknown) => JSON.stringify(value).replaceAll('<', '\\u003c')

const inText = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
