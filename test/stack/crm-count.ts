const client = {client_id: '1000.LADING', redirect_uri: 'http://127.0.0.1/asked-by-the-demo'}
const secret = 'stand-in-secret'

/** Returns the number of Accounts in the CRM. Uses the CRM's API with a separate grant, so Lading is not involved. */
export const countAccounts = async (crm: string, email: string): Promise<number> => {
  const {access_token, api_domain} = await askForToken(crm, email)
  const answer = await fetch(`${api_domain}/crm/v8/Accounts/actions/count`, {headers: {authorization: `Zoho-oauthtoken ${access_token}`}})
  const {count} = (await answer.json()) as {count?: number}
  if (count === undefined) throw new Error(`The CRM does not say how many Accounts it has: ${answer.status}`)
  return count
}

const askForToken = async (crm: string, email: string) => {
  const asked = {response_type: 'code', scope: 'ZohoCRM.modules.ALL', access_type: 'online', sim_user: email, sim_decision: 'allow'}
  const agreed = await fetch(`${crm}/oauth/v2/auth?${new URLSearchParams({...client, ...asked})}`, {redirect: 'manual'})
  const code = new URL(agreed.headers.get('location') ?? crm).searchParams.get('code') ?? ''
  const body = new URLSearchParams({...client, client_secret: secret, grant_type: 'authorization_code', code})
  const answer = await fetch(`${crm}/oauth/v2/token`, {method: 'POST', body})
  return (await answer.json()) as {access_token: string; api_domain: string}
}
