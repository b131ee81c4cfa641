import type {Consent} from '../shared/oauth/consent.ts'
import {policySourceOf} from '../shared/oauth/redirect.ts'
import {inText, page} from './html.ts'
import type {Reply} from './reply.ts'

/**
 * Asks a person who signed in whether a program may read for them. Its form leads to us and from there to where the client registered, as
 * browsers hold a redirect after a form to the form's policy. `same-origin`: without a referrer policy of its own the form would be sent
 * with the origin `null`.
 */
export const consentPage = ({request, orgs}: Consent, signed: string): Reply =>
  page({
    title: `${inText(request.clientName)} wants to use Lading for you`,
    headers: {'referrer-policy': 'same-origin'},
    formAction: `'self' ${policySourceOf(request.redirectUri)}`,
    content: `
<p>It calls itself <strong>${inText(request.clientName)}</strong>${proofOf(request)}. You will be sent to <strong>${inText(placeOf(request.redirectUri))}</strong>.
Go on only if you started this yourself, just now.</p>
<p>It will be able to read the modules and fields of the org's connections and what the org says about them, to try expressions, and to have
mappings and templates checked. It writes nothing, and sees no rows of files and no records.</p>
<form method="post" action="consent">
<input type="hidden" name="request" value="${inText(signed)}">
${orgs.length > 0 ? choice(request.org, orgs) : '<p>You are a member of no open org, so there is nothing to let it into.</p>'}
${orgs.length > 0 ? '<button class="main" name="decision" value="allow">Allow</button>' : ''}
<button name="decision" value="deny">Do not allow</button>
</form>
<p><small>You are signed in as ${inText(request.email ?? '')}. What you allow ends when you take it back, or are no longer in the org.</small></p>`,
  })

/** A client that is a document shows its address, which nobody else can have; the name of one that registered is only what it said. */
const proofOf = ({clientKind, clientId}: Consent['request']) =>
  clientKind === 'document' ? ` and is described at <strong>${inText(new URL(clientId).host)}</strong>` : ', which nobody has checked'

const placeOf = (redirectUri: string) => {
  const {protocol, host} = new URL(redirectUri)
  if (protocol === 'https:') return host
  return protocol === 'http:' ? 'a program on this computer' : `a program on this computer that opens ${protocol} links`
}

const choice = (first: string | null, orgs: Consent['orgs']) => `<label for="org">In the org</label>
<select id="org" name="org">
${orgs.map(({id, name}) => `<option value="${inText(id)}"${id === first ? ' selected' : ''}>${inText(name)}</option>`).join('\n')}
</select>`
