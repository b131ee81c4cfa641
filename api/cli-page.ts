import type {Config} from '../shared/config.ts'
import {type Hosts, listHosts} from '../shared/crm/hosts.ts'
import {inText, page} from './html.ts'
import type {Reply} from './reply.ts'

type CliPageInput = {port: number; state: string; dc?: string | undefined}

/**
 * Returns the page that `lading login` opens. The person signs in, sees the account, and hands the session to the CLI with a button. The form posts
 * to 127.0.0.1, the only target that its content security policy allows. The person compares the code on the page with the code in the terminal,
 * which reveals a login that another person started.
 */
export const cliPage = (config: Pick<Config, 'CRM_STANDIN_URL' | 'CRM_HOSTS' | 'PUBLIC_URL'>, {port, state, dc}: CliPageInput): Reply => {
  const home = new URL(config.PUBLIC_URL).origin
  const code = `${state.slice(0, 4)}-${state.slice(4, 8)}`.toUpperCase()
  return page({
    title: 'Sign in to the command line',
    headers: {'referrer-policy': 'same-origin'},
    formAction: `http://127.0.0.1:${port}`,
    connect: "'self'",
    content: `
<p>The command line <strong>lading</strong> on this computer wants to sign in. Continue only if you have just started <code>lading login</code>
and your terminal shows the code <strong>${code}</strong>.</p>
<div id="begin">
<label for="dc">Region of your CRM</label>
<select id="dc">
${centres(listHosts(config), dc)}
</select>
<button class="main" id="sign-in">Sign in</button>
</div>
<form id="let-in" method="post" action="http://127.0.0.1:${port}/" hidden>
<p>You are signed in as <strong id="who"></strong>, <span id="role"></span> of <strong id="org"></strong>.</p>
<p>The command line gets your permissions in this org. Its session lasts eight hours and is renewed while you use it.</p>
<input type="hidden" name="state" value="${inText(state)}">
<input type="hidden" name="token" id="token">
<button class="main">Allow</button>
<button type="button" id="another">Use another account</button>
</form>
<p id="said" role="status"></p>
<script type="application/json" id="home">${JSON.stringify(home)}</script>
<script nonce="NONCE">${SCRIPT}</script>`,
  })
}

const centres = (hosts: readonly Hosts[], asked: string | undefined) => {
  const first = [asked, 'local', 'us'].find(wanted => hosts.some(({dc}) => dc === wanted))
  return hosts
    .map(({dc, accounts}) => `<option value="${dc}"${dc === first ? ' selected' : ''}>${dc} (${inText(new URL(accounts).host)})</option>`)
    .join('\n')
}

/** The script of the page. Sign-in returns a session only to the server's own origin, so a page opened under another hostname redirects there. */
const SCRIPT = `
const at = id => document.getElementById(id)
const home = JSON.parse(at('home').textContent)
if (location.origin !== home) location.replace(home + location.pathname + location.search)
let visit = null
const say = text => { at('said').textContent = text }
at('sign-in').onclick = () => {
  say('')
  visit = open('/auth/zoho/start?' + new URLSearchParams({dc: at('dc').value, return: home}), 'lading-sign-in', 'popup,width=560,height=720')
  if (!visit) say('The browser blocked the sign-in window. Allow pop-ups for this page and try again.')
}
addEventListener('message', async ({origin, source, data}) => {
  if (origin !== home || source !== visit || data?.type !== 'lading:session') return
  const answer = await fetch('/auth/me', {headers: {authorization: 'Bearer ' + data.token}}).catch(() => null)
  const me = answer && await answer.json().catch(() => null)
  if (!answer?.ok) return say(me?.error ?? 'The server did not respond. Try again.')
  if (!me.org) return say(me.user.email + ' belongs to no org here. Accept an invitation first, or use another account.')
  at('token').value = data.token
  at('who').textContent = me.user.name + ' <' + me.user.email + '>'
  at('role').textContent = me.role
  at('org').textContent = me.org.name
  at('begin').hidden = true
  at('let-in').hidden = false
  say('')
  at('let-in').querySelector('button').focus()
})
at('another').onclick = () => {
  at('token').value = ''
  at('let-in').hidden = true
  at('begin').hidden = false
}
`
