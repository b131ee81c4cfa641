import {createHash} from 'node:crypto'
import type {Answer} from './answers.ts'
import {type Client, secretOf} from './clients.ts'
import type {Org, User} from './org.ts'
import {bearerOf, type Request} from './request.ts'
import {hasScope} from './scopes.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {Challenge, Code} from './tokens.ts'

/** The token endpoint of the accounts host. */
export const answerToken = async (world: SimulatorState, request: Request): Promise<Answer> => {
  const sent = await request.params()
  const client = world.clients.get(sent.get('client_id') ?? '')
  if (!client) return tokenError(world, 'invalid_client')
  if (secretOf(client, request.dc) !== sent.get('client_secret')) return tokenError(world, 'invalid_client')
  if (sent.get('grant_type') === 'authorization_code') return exchangeCode(world, request, client, sent)
  if (sent.get('grant_type') === 'refresh_token') return refreshToken(world, request, client, sent)
  return tokenError(world, 'general_error')
}

export const answerRevoke = async (world: SimulatorState, request: Request): Promise<Answer> => {
  const sent = await request.params()
  const isKnown = world.tokens.revoke(sent.get('token') ?? '')
  return isKnown ? {status: 200, body: {status: 'success'}, committed: true} : tokenError(world, 'invalid_code')
}

export const answerUserInfo = (world: SimulatorState, request: Request): Answer => {
  const token = world.tokens.findAccess(bearerOf(request.headers) ?? '')
  if (!token) return {status: 401, body: {code: 'INVALID_TOKEN', details: {}, message: 'invalid oauth token', status: 'error'}}
  if (!hasScope(token, 'AaaServer.profile', 'READ')) {
    return {status: 401, body: {code: 'OAUTH_SCOPE_MISMATCH', details: {}, message: 'Unauthorized', status: 'error'}}
  }
  const {user} = token
  const names = {First_Name: user.firstName, Last_Name: user.lastName, Display_Name: user.fullName}
  return {status: 200, body: {...names, Email: user.email, ZUID: Number(user.zuid)}}
}

export const answerOpenIdUser = (world: SimulatorState, request: Request): Answer => {
  const token = world.tokens.findAccess(bearerOf(request.headers) ?? '')
  if (!token?.scopes.includes('openid')) return {status: 401, body: {error: 'invalid_token'}}
  const {user} = token
  const names = {given_name: user.firstName, family_name: user.lastName, name: user.fullName}
  return {status: 200, body: {sub: user.zuid, email: user.email, email_verified: user.confirmed, ...names}}
}

export const answerDiscovery = (world: SimulatorState, request: Request): Answer => {
  const host = world.hostOf(request.dc)
  return {
    status: 200,
    body: {
      issuer: host,
      authorization_endpoint: `${host}/oauth/v2/auth`,
      token_endpoint: `${host}/oauth/v2/token`,
      revocation_endpoint: `${host}/oauth/v2/token/revoke`,
      userinfo_endpoint: `${host}/oauth/v2/userinfo`,
      dc_info: `${host}/oauth/serverinfo`,
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256'],
      scopes_supported: ['openid', 'email', 'profile'],
      subject_types_supported: ['public'],
      token_endpoint_auth_methods_supported: ['client_secret_post'],
    },
  }
}

export const answerServerInfo = (world: SimulatorState): Answer => {
  const dcs = [...new Set([world.defaultDc, ...[...world.orgs.values()].map(org => org.dc)])]
  return {status: 200, body: {result: 'success', locations: Object.fromEntries(dcs.map(dc => [dc, world.hostOf(dc)]))}}
}

/** What a user consented to. The exchange of the code later checks the client, the redirect URI and the challenge. */
export type AllowInput = {
  client: Client
  org: Org
  user: User
  scopes: string[]
  redirectUri: string
  offline: boolean
  forced: boolean
  challenge: Challenge | null
}

/** Issues a code after consent. An offline code later gives a refresh token only for the first offline consent or a forced one. */
export const allow = (world: SimulatorState, asked: AllowInput): Code => {
  const {client, org, user, scopes} = asked
  const consent = `${client.clientId} ${org.key} ${user.id}`
  const isFirst = !world.tokens.consents.has(consent)
  if (asked.offline) world.tokens.consents.add(consent)
  const grant = {org, user, clientId: client.clientId, dc: org.dc, scopes}
  const about = {redirectUri: asked.redirectUri, offline: asked.offline && (isFirst || asked.forced), challenge: asked.challenge}
  return world.tokens.issueCode(grant, about)
}

const exchangeCode = (world: SimulatorState, request: Request, client: Client, sent: URLSearchParams): Answer => {
  const code = world.tokens.takeCode(sent.get('code') ?? '')
  if (!code || code.dc !== request.dc || code.clientId !== client.clientId) return tokenError(world, 'invalid_code')
  if (code.redirectUri !== null && code.redirectUri !== sent.get('redirect_uri')) return tokenError(world, 'invalid_redirect_uri')
  if (code.challenge && !isVerified(code.challenge, sent.get('code_verifier') ?? '')) return tokenError(world, 'invalid_code')
  const refresh = code.offline ? world.tokens.issueRefresh(code) : null
  if (refresh === 'throttled') return throttled()
  const access = world.tokens.issueAccess(code, refresh?.token ?? null)
  return granted(world, access.token, code.scopes, request.dc, refresh?.token)
}

const refreshToken = (world: SimulatorState, request: Request, client: Client, sent: URLSearchParams): Answer => {
  const refresh = world.tokens.refresh.get(sent.get('refresh_token') ?? '')
  if (!refresh || refresh.dc !== request.dc || refresh.clientId !== client.clientId) return tokenError(world, 'invalid_code')
  const access = world.tokens.mint(refresh)
  if (access === 'throttled') return throttled()
  return granted(world, access.token, refresh.scopes, request.dc)
}

const granted = (world: SimulatorState, access: string, scopes: string[], dc: string, refresh?: string): Answer => ({
  status: 200,
  committed: true,
  body: {
    access_token: access,
    ...(refresh === undefined ? {} : {refresh_token: refresh}),
    scope: scopes.join(' '),
    api_domain: world.switches.apiDomain ?? world.hostOf(dc),
    token_type: 'Bearer',
    expires_in: world.switches.accessTokenSeconds,
  },
})

/** Answers a token error with the status of the switch `tokenErrorStatus`, which is 200 by default. */
export const tokenError = (world: SimulatorState, error: string): Answer => ({status: world.switches.tokenErrorStatus, body: {error}})

export const throttled = (): Answer => ({
  status: 400,
  body: {
    error_description: 'You have made too many requests continuously. Please try again after some time.',
    error: 'Access Denied',
    status: 'failure',
  },
})

const isVerified = ({value, method}: Challenge, verifier: string) =>
  (method === 'S256' ? createHash('sha256').update(verifier).digest('base64url') : verifier) === value
