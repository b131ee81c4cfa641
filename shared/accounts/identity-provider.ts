import {createHash} from 'node:crypto'
import {request} from 'undici'
import {z} from 'zod'
import type {ConnectorWarning} from '../../sql/connectors.ts'
import type {Config} from '../config.ts'
import {codeOf} from '../crm/error.ts'
import {type Hosts, isApiDomain, trim} from '../crm/hosts.ts'
import {findClient} from '../crm/oauth-client.ts'
import {isApiAccessRefused, isCrmAdministrator, type ReadJson, readAccess} from '../crm/visibility.ts'
import {Refusal} from '../errors.ts'

/** The account that signed in, and its CRM user. `crmOrg` is null for an account without a CRM. */
export type Identity = {
  dc: string
  subject: string
  email: string
  name: string
  crmOrg: {id: string; name: string; sandbox: boolean} | null
  crmUser: {id: string; name: string} | null
  isAdministrator: boolean
  /** Warnings about the CRM user's rights. Null unless the purpose is `connect` and the CRM returned them. */
  warnings: ConnectorWarning[] | null
  /**
   * True if the CRM refuses calls of the account, because its CRM user's profile has no API access. A refused call leaves `crmOrg` or `crmUser`
   * null.
   */
  lacksApiAccess: boolean
}

export type CrmConsent = {accessToken: string; refreshToken: string | null; apiDomain: string; scopes: string[]; seconds: number}

const SCOPES = {
  session: ['AaaServer.profile.READ', 'ZohoCRM.users.READ', 'ZohoCRM.org.READ', 'ZohoCRM.settings.profiles.READ'],
  connect: [
    'AaaServer.profile.READ',
    'ZohoCRM.modules.ALL',
    'ZohoCRM.settings.modules.READ',
    'ZohoCRM.settings.fields.READ',
    'ZohoCRM.settings.layouts.READ',
    'ZohoCRM.settings.assignment_rules.READ',
    'ZohoCRM.settings.tags.ALL',
    'ZohoCRM.settings.recycle_bin.READ',
    'ZohoCRM.settings.recycle_bin.UPDATE',
    'ZohoCRM.settings.profiles.READ',
    'ZohoCRM.settings.data_sharing.READ',
    'ZohoCRM.users.READ',
    'ZohoCRM.org.READ',
    'ZohoSearch.securesearch.READ',
    'ZohoCRM.coql.READ',
    'ZohoCRM.bulk.READ',
    'ZohoCRM.bulk.CREATE',
    'ZohoFiles.files.ALL',
  ],
}
/** The scopes that a connection must be granted. With fewer scopes, its runs would fail. */
export const connectionScopes = SCOPES.connect.slice(1)

/** Returns the connection scopes that a consent lacks. If the CRM named no scopes, it granted all of them. */
export const listMissingScopes = ({scopes}: Pick<CrmConsent, 'scopes'>): string[] =>
  scopes.length === 0 ? [] : connectionScopes.filter(scope => !scopes.includes(scope))

const answersWithinMs = 15_000

const callbackUrl = ({PUBLIC_URL}: Pick<Config, 'PUBLIC_URL'>) => `${PUBLIC_URL.replace(/\/+$/, '')}/auth/zoho/callback`

type Visit = {purpose: 'session' | 'connect' | 'grant'; connects: boolean; state: string; verifier: string}

/**
 * Returns the provider's authorisation URL. The purpose `connect` requests permanent access and always asks for consent, even after an earlier
 * one. A sign-in with `connects` requests permanent access too, but the CRM grants it only with the account's first consent.
 */
export const authoriseUrl = (config: Config, {dc, accounts}: Hosts, {purpose, connects, state, verifier}: Visit): string => {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientOf(config, dc).id,
    redirect_uri: callbackUrl(config),
    scope: (purpose === 'connect' || connects ? SCOPES.connect : SCOPES.session).join(','),
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    access_type: purpose === 'connect' || connects ? 'offline' : 'online',
    ...(purpose === 'connect' && {prompt: 'consent'}),
  })
  return `${accounts}/oauth/v2/auth?${query}`
}

const clientOf = (config: Config, dc: string) => {
  const own = findClient(config, dc)
  if (own) return own
  throw new Refusal(
    'NOT_CONFIGURED',
    `No OAuth client is set up for the data centre ${dc}. Choose another data centre, or ask the operator to add a client`,
  )
}

const Tokens = z.object({
  access_token: z.string(),
  refresh_token: z.string().optional(),
  api_domain: z.string().optional(),
  scope: z.string().default(''),
  expires_in: z.number().default(3600),
})

/** Exchanges the code for tokens at the host that issued the code. The provider reports a refusal with status 200 and `error`. */
export const exchangeCode = async (
  config: Config,
  hosts: Hosts,
  {code, verifier}: {code: string; verifier: string},
): Promise<CrmConsent> => {
  const own = clientOf(config, hosts.dc)
  const {json} = await requestProvider(`${hosts.accounts}/oauth/v2/token`, {
    form: {
      grant_type: 'authorization_code',
      client_id: own.id,
      client_secret: own.secret,
      redirect_uri: callbackUrl(config),
      code,
      code_verifier: verifier,
    },
  })
  const tokens = Tokens.safeParse(json)
  if (!tokens.success) throw refusalOf(json)
  const {access_token, refresh_token, api_domain = hosts.apiDomain, scope, expires_in} = tokens.data
  if (!isApiDomain(hosts, api_domain)) throw unavailable(`It named an unknown API host (${api_domain})`)
  const scopes = scope.split(/[\s,]+/).filter(Boolean)
  return {accessToken: access_token, refreshToken: refresh_token ?? null, apiDomain: trim(api_domain), scopes, seconds: expires_in}
}

/** Revokes, at the provider, a refresh token that no connection stores. */
export const revokeConsent = async ({accounts}: Hosts, refreshToken: string): Promise<void> => {
  await requestProvider(`${accounts}/oauth/v2/token/revoke?${new URLSearchParams({token: refreshToken})}`, {form: {}})
}

const Account = z.object({
  ZUID: z.union([z.int(), z.string().regex(/^\d+$/)]).transform(String),
  Email: z.string().default(''),
  Display_Name: z.string().default(''),
})
const textOr = (instead: string) =>
  z
    .string()
    .nullish()
    .transform(text => text ?? instead)
const User = z.object({id: z.string(), full_name: textOr(''), profile: z.object({id: z.string()}).nullish()})
const Users = z.object({users: z.array(User).min(1)})
const Orgs = z.object({org: z.array(z.object({id: z.string(), company_name: textOr('CRM'), type: textOr('production')})).min(1)})

/** Reads the account and its CRM user. An account without access to the CRM can still sign in. */
export const readIdentity = async (
  hosts: Hosts,
  {apiDomain, accessToken}: Pick<CrmConsent, 'apiDomain' | 'accessToken'>,
  purpose: Visit['purpose'],
): Promise<Identity> => {
  const [account, users, orgs] = await Promise.all([
    requestProvider(`${hosts.accounts}/oauth/user/info`, {accessToken}),
    requestProvider(`${apiDomain}/crm/v8/users?type=CurrentUser`, {accessToken}),
    requestProvider(`${apiDomain}/crm/v8/org`, {accessToken}),
  ])
  const who = Account.safeParse(account.json)
  if (!who.success) throw unavailable('It did not name the account that signed in')
  if (isScopeMissing(users) || isScopeMissing(orgs))
    throw new Refusal('SIGN_IN_REFUSED', 'The CRM says that not every scope was granted. Start again and accept every scope')
  const user = Users.safeParse(users.json).data?.users[0]
  const org = Orgs.safeParse(orgs.json).data?.org[0]
  const read: ReadJson = (path, query = {}) => requestProvider(`${apiDomain}${path}?${new URLSearchParams(query)}`, {accessToken})
  const access = await readOwn(read, user && {id: user.id, profile: user.profile?.id ?? null}, purpose)
  return {
    dc: hosts.dc,
    subject: `${hosts.dc}:${who.data.ZUID}`,
    email: who.data.Email,
    name: who.data.Display_Name || user?.full_name || who.data.Email,
    crmOrg: org ? {id: org.id, name: org.company_name, sandbox: org.type.toLowerCase() === 'sandbox'} : null,
    crmUser: user ? {id: user.id, name: user.full_name} : null,
    ...access,
    // Without a CRM user, an account may sign in but not connect. The CRM refuses such an account without naming a permission, so a sign-in
    // ignores unnamed refusals.
    lacksApiAccess: [users, orgs].some(answer => isApiAccessRefused(answer, {isNamed: purpose !== 'connect'})),
  }
}

/**
 * Reads whether the user is an administrator. For a connection, also reads the warnings about the user's rights; discovery later reads them again.
 */
const readOwn = async (
  read: ReadJson,
  user: {id: string; profile: string | null} | undefined,
  purpose: Visit['purpose'],
): Promise<Pick<Identity, 'isAdministrator' | 'warnings'>> => {
  if (!user) return {isAdministrator: false, warnings: null}
  if (purpose !== 'connect') return {isAdministrator: await isCrmAdministrator(read, user), warnings: null}
  return readAccess(read, user).catch(error => {
    if (error instanceof Refusal) return {isAdministrator: false, warnings: null}
    throw error
  })
}

const isScopeMissing = ({status, json}: {status: number; json: unknown}) => status === 401 && codeOf(json) === 'OAUTH_SCOPE_MISMATCH'

type ProviderRequest = {accessToken?: string; form?: Record<string, string>}

/**
 * Sends a request. Returns a status below 500 and the JSON, which is null if the text is not JSON. Throws SIGN_IN_UNAVAILABLE for no answer,
 * 5xx, 429, a 200 without JSON, and a 401 that is not about missing scopes.
 */
const requestProvider = async (url: string, {accessToken, form}: ProviderRequest) => {
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
    throw unavailable('Its answer was incomplete', cause)
  })
  const json = parse(text)
  const status = answer.statusCode
  if (status >= 500 || status === 429 || (status === 401 && !isScopeMissing({status, json}))) throw unavailable(`It answered ${status}`)
  if (status === 200 && json === null) throw unavailable('It answered something that is not JSON')
  return {status, json}
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
  if (error === 'Access Denied') return unavailable('It limits the rate of requests. Try again in ten minutes')
  return unavailable(error ? `It refused this service (${error}). Contact the operator` : 'Its answer is invalid')
}

const unavailable = (why: string, cause?: unknown) => {
  const refusal = new Refusal('SIGN_IN_UNAVAILABLE', `The CRM's sign-in did not work. ${why}`)
  refusal.cause = cause
  return refusal
}
