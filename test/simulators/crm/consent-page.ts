import type {Client} from './clients.ts'

export type ConsentData = {
  client: Client
  path: string
  hidden: [string, string][]
  scopes: string[]
  chosen: string
  orgs: {name: string; users: {email: string; label: string}[]}[]
}

/** Returns a plain form without scripts, so that a test can submit it. */
export const consentPage = ({client, path, hidden, scopes, chosen, orgs}: ConsentData): string =>
  layout(
    'Sign in',
    `<h1>Sign in to the CRM</h1>
<p><strong>${escapeHtml(client.clientId)}</strong> asks for access to your organisation's data.</p>
<form action="${escapeHtml(path)}" method="get">
${hidden.map(([name, value]) => `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(value)}">`).join('\n')}
<label for="user">Sign in as</label>
<select id="user" name="sim_user">
${orgs.map(org => `<optgroup label="${escapeHtml(org.name)}">${org.users.map(user => option(user, chosen)).join('')}</optgroup>`).join('\n')}
</select>
<h2>It will be able to use</h2>
<ul>${scopes.map(scope => `<li>${escapeHtml(scope)}</li>`).join('')}</ul>
<div class="buttons">
<button name="sim_decision" value="allow" class="allow">Allow</button>
<button name="sim_decision" value="deny">Deny</button>
</div>
</form>`,
  )

export const errorPage = (problem: string): string => layout('Error', `<h1>An error occurred</h1><p>${escapeHtml(problem)}</p>`)

const option = ({email, label}: {email: string; label: string}, chosen: string) => {
  const selected = email.toLowerCase() === chosen.toLowerCase() ? ' selected' : ''
  return `<option value="${escapeHtml(email)}"${selected}>${escapeHtml(email)} (${escapeHtml(label)})</option>`
}

const layout = (title: string, content: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · CRM stand-in</title>
<style>${style}</style>
</head>
<body><main>${content}</main><footer>A stand-in for the CRM: no real account is involved.</footer></body>
</html>
`

const style = `
:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}
body{margin:0;min-height:100vh;display:grid;place-content:center;gap:1rem;background:light-dark(#eef1f5,#14181d);color:light-dark(#1c2430,#e6eaf0)}
main{box-sizing:border-box;width:min(26rem,94vw);padding:2rem;border-radius:.75rem;background:light-dark(#fff,#1e242c);box-shadow:0 .5rem 2rem #0002}
h1{margin:0 0 .5rem;font-size:1.4rem}h2{margin:1.25rem 0 .25rem;font-size:.85rem;font-weight:600}
label{display:block;margin:1rem 0 .25rem;font-size:.85rem;font-weight:600}
select,button{box-sizing:border-box;font:inherit;padding:.6rem .75rem;border-radius:.5rem;border:1px solid light-dark(#c3cad4,#3b4552);background:transparent;color:inherit}
select{width:100%}select option,select optgroup{color:CanvasText;background:Canvas}
ul{margin:0;padding:.5rem .75rem;list-style:none;font:.8rem/1.6 ui-monospace,monospace;max-height:9rem;overflow:auto;border-radius:.5rem;background:light-dark(#f4f6f9,#171c22)}
.buttons{display:flex;gap:.75rem;margin-top:1.5rem}button{flex:1;cursor:pointer}
.allow{background:#1f6feb;border-color:#1f6feb;color:#fff}button:focus-visible,select:focus-visible{outline:3px solid #7fb0ff}
footer{text-align:center;font-size:.8rem;opacity:.7}`

const entities: Record<string, string> = {'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;'}
const escapeHtml = (text: string) => text.replace(/[&<>"']/g, found => entities[found]!)
