import {inText, page} from './html.ts'
import type {OAuthConsent} from './oauth/consent.ts'
import {policySourceOf} from './oauth/redirect.ts'
import type {Reply} from './reply.ts'

/**
 * Returns the page on which a signed-in person authorises an OAuth client. The CSP `form-action` includes the redirect target, because browsers apply
 * it to redirects too. The `same-origin` referrer policy keeps the Origin header of the form from being `null`.
 */
export const consentPage = ({request, orgs}: OAuthConsent, signed: string): Reply =>
  page({
    title: `${inText(request.clientName)} wants to access Lading for you`,
    headers: {'referrer-policy': 'same-origin'},
    formAction: `'self' ${policySourceOf(request.redirectUri)}`,
    content: `
<p>It calls itself <strong>${inText(request.clientName)}</strong>${proofOf(request)}. You will be sent to <strong>${inText(placeOf(request.redirectUri))}</strong>.
Continue only if you started this yourself.</p>
<p>It can read the modules and fields of the org's connections and their settings, test expressions, and check mappings and templates.
It cannot write anything, and it cannot see rows of files or CRM records.</p>
<form method="post" action="consent">
<input type="hidden" name="request" value="${inText(signed)}">
${orgs.length > 0 ? choice(request.org, orgs) : '<p>This sign-in reaches no open org, so you cannot allow access.</p>'}
${orgs.length > 0 ? '<button class="main" name="decision" value="allow">Allow</button>' : ''}
<button name="decision" value="deny">Deny</button>
</form>
<p><small>You are signed in as ${inText(request.email ?? '')}. Access ends when you revoke it or leave the org.</small></p>`,
  })

/**
 * Returns what identifies the client on the page. A client with a metadata document shows its verified host. The name of a registered
 * client is unverified.
 */
const proofOf = ({clientKind, clientId}: OAuthConsent['request']) =>
  clientKind === 'document' ? ` and is described at <strong>${inText(new URL(clientId).host)}</strong>` : '. This name is not verified'

const placeOf = (redirectUri: string) => {
  const {protocol, host} = new URL(redirectUri)
  if (protocol === 'https:') return host
  return protocol === 'http:' ? 'a program on this computer' : `a program on this computer that opens ${protocol} links`
}

const choice = (first: string | null, orgs: OAuthConsent['orgs']) => `<label for="org">Org</label>
<select id="org" name="org">
${orgs.map(({id, name}) => `<option value="${inText(id)}"${id === first ? ' selected' : ''}>${inText(name)}</option>`).join('\n')}
</select>`
