import {createHash} from 'node:crypto'
import {request} from 'undici'
import {z} from 'zod'
import type {Config} from '../config.ts'
import {type Hosts, isApiDomain} from '../crm/hosts.ts'
import {Refusal} from '../errors.ts'

/** Who signed in, and where in the CRM they work: no `crmOrg` for people with an account and no CRM. */
export type Identity = {
  dc: string
  subject: string
  email: string
  name: string
  crmOrg: {id: string; name: string; sandbox: boolean} | null
  crmUser: {id: string; name: string} | null
  isAdministrator: boolean
}

export type Consent = {accessToken: string; refreshToken: string | null; apiDomain: string; scopes: string[]; seconds: number}

const SCOPES = {
  session: ['AaaServer.profile.READ', 'ZohoCRM.users.READ', 'ZohoCRM.org.READ'],
  connect: [
    'AaaServer.profile.READ',
    'ZohoCRM.modules.ALL',
    'ZohoCRM.settings.modules.READ',
    'ZohoCRM.settings.fields.READ',
    'ZohoCRM.settings.layouts.READ',
    'ZohoCRM.users.READ',
    'ZohoCRM.org.READ',
    'ZohoSearch.securesearch.READ',
    'ZohoCRM.coql.READ',
  ],
}
/** What a connection needs of its consent; less of it is a connection that fails at night. */
export const connectionScopes = SCOPES.connect.slice(1)

const answersWithinMs = 15_000

const callbackUrl = ({PUBLIC_URL}: Pick<Config, 'PUBLIC_URL'>) => `${PUBLIC_URL.replace(/\/+$/, '')}/auth/zoho/callback`

type Visit = {purpose: 'session' | 'connect' | 'grant'; state: string; verifier: string}

/** Where the browser is sent. A connection asks for lasting access, and for consent even where it was given before. */
export const authoriseUrl = (config: Config, {accounts}: Hosts, {purpose, state, verifier}: Visit): string => {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: config.CRM_CLIENT_ID,
    redirect_uri: callbackUrl(config),
    scope: SCOPES[purpose === 'connect' ? 'connect' : 'session'].join(','),
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...(purpose === 'connect' ? {access_type: 'offline', prompt: 'consent'} : {access_type: 'online'}),
  })
  return `${accounts}/oauth/v2/auth?${query}`
}

const Tokens = z.object({
  access_token: z.string(),
  refresh_token: z.string().optional(),
  api_domain: z.string().optional(),
  scope: z.string().default(''),
  expires_in: z.number().default(3600),
})

/** The code's tokens, asked of the very host that issued it. Its refusals come as 200 with `error`. */
export const exchangeCode = async (config: Config, hosts: Hosts, {code, verifier}: {code: string; verifier: string}): Promise<Consent> => {
  const {json} = await ask(`${hosts.accounts}/oauth/v2/token`, {
    form: {
      grant_type: 'authorization_code',
      client_id: config.CRM_CLIENT_ID,
      client_secret: config.CRM_CLIENT_SECRET,
      redirect_uri: callbackUrl(config),
      code,
      code_verifier: verifier,
    },
  })
  const tokens = Tokens.safeParse(json)
  if (!tokens.success) throw refusalOf(json)
  const {access_token, refresh_token, api_domain = hosts.apiDomain, scope, expires_in} = tokens.data
  if (!isApiDomain(hosts, api_domain)) throw unavailable(`It named an API host we do not know (${api_domain})`)
  const scopes = scope.split(/[\s,]+/).filter(Boolean)
  return {accessToken: access_token, refreshToken: refresh_token ?? null, apiDomain: api_domain, scopes, seconds: expires_in}
}

const Account = z.object({
  ZUID: z.union([z.int(), z.string().regex(/^\d+$/)]).transform(String),
  Email: z.string().default(''),
  Display_Name: z.string().default(''),
})
const Users = z.object({users: z.array(z.object({id: z.string(), full_name: z.string(), profile: z.object({name: z.string()})})).min(1)})
const Orgs = z.object({org: z.array(z.object({id: z.string(), company_name: z.string(), type: z.string().default('production')})).min(1)})

/** The account, and what the CRM says of its user. An account the CRM does not let in is still somebody. */
export const readIdentity = async (
  hosts: Hosts,
  {apiDomain, accessToken}: Pick<Consent, 'apiDomain' | 'accessToken'>,
): Promise<Identity> => {
  const [account, users, orgs] = await Promise.all([
    ask(`${hosts.accounts}/oauth/user/info`, {accessToken}),
    ask(`${apiDomain}/crm/v8/users?type=CurrentUser`, {accessToken}),
    ask(`${apiDomain}/crm/v8/org`, {accessToken}),
  ])
  const who = Account.safeParse(account.json)
  if (!who.success) throw unavailable('It did not say who signed in')
  const user = Users.safeParse(users.json).data?.users[0]
  const org = Orgs.safeParse(orgs.json).data?.org[0]
  return {
    dc: hosts.dc,
    subject: `${hosts.dc}:${who.data.ZUID}`,
    email: who.data.Email,
    name: who.data.Display_Name || user?.full_name || who.data.Email,
    crmOrg: org ? {id: org.id, name: org.company_name, sandbox: org.type.toLowerCase() === 'sandbox'} : null,
    crmUser: user ? {id: user.id, name: user.full_name} : null,
    isAdministrator: user?.profile.name === 'Administrator',
  }
}

type Question = {accessToken?: string; form?: Record<string, string>}

/** What was answered below 500, as far as it is JSON; a token that is not honoured, a throttle and no answer are failures. */
const ask = async (url: string, {accessToken, form}: Question) => {
  const answer = await request(url, {
    method: form ? 'POST' : 'GET',
    headers: {
      accept: 'application/json',
      ...(accessToken && {authorization: `Zoho-oauthtoken ${accessToken}`}),
      ...(form && {'content-type': 'application/x-www-form-urlencoded'}),
    },
    ...(form && {body: new URLSearchParams(form).toString()}),
    signal: AbortSignal.timeout(answersWithinMs),
  }).catch(cause => {
    throw unavailable('It did not answer', cause)
  })
  const text = await answer.body.text().catch(cause => {
    throw unavailable('It broke off its answer', cause)
  })
  if (answer.statusCode >= 500 || answer.statusCode === 429 || answer.statusCode === 401)
    throw unavailable(`It answered ${answer.statusCode}`)
  return {status: answer.statusCode, json: parse(text)}
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const refusalOf = (json: unknown) => {
  const error = z.object({error: z.string()}).safeParse(json).data?.error
  if (error === 'invalid_code') return new Refusal('SIGN_IN_EXPIRED', 'This sign-in took too long or was already used. Start again')
  if (error === 'Access Denied') return unavailable('It asks to wait: try again in ten minutes')
  return unavailable(error ? `It does not accept this service (${error}): tell its operator` : 'Its answer makes no sense')
}

const unavailable = (why: string, cause?: unknown) => {
  const refusal = new Refusal('SIGN_IN_UNAVAILABLE', `The CRM's sign-in did not work. ${why}`)
  refusal.cause = cause
  return refusal
}
