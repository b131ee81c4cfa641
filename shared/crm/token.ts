import type {Client} from './client.ts'
import {asObject} from './error.ts'
import type {Hosts} from './hosts.ts'
import type {CrmOAuthClient} from './oauth-client.ts'

/** `isCounted`: the CRM may have issued a token, or counted the request towards its limit. */
export type Renewal = {token: string; seconds: number} | {refused: 'ended' | 'throttled' | 'failed'; why: string; isCounted: boolean}

const longestLifeSeconds = 3600
/** Errors of a connection that was never established, so that nothing was sent. */
const unsentCodes = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT']

/** Refusals often have status 200, and throttling has 400, so only the body shows the kind of refusal. The refresh token never changes. */
export const renewToken = async (
  client: Client,
  {own, hosts, refreshToken, timeoutSeconds}: {own: CrmOAuthClient; hosts: Hosts; refreshToken: string; timeoutSeconds: number},
): Promise<Renewal> => {
  const form = new URLSearchParams({
    grant_type: 'refresh_token',
    client_id: own.id,
    client_secret: own.secret,
    refresh_token: refreshToken,
  })
  const body = {type: 'application/x-www-form-urlencoded', text: form.toString()} as const
  const answer = await client.call({
    operation: 'token',
    origin: hosts.accounts,
    method: 'POST',
    path: '/oauth/v2/token',
    body,
    timeoutSeconds,
  })
  if ('lost' in answer) {
    const isCounted = !unsentCodes.includes(answer.lost)
    return {refused: 'failed', why: `The CRM's accounts host did not answer (${answer.lost})`, isCounted}
  }
  return readRenewal(answer)
}

/** Revokes the refresh token and its access tokens. Returns the reason of a failure, or null. */
export const revokeToken = async (
  client: Client,
  {hosts, refreshToken, timeoutSeconds}: {hosts: Hosts; refreshToken: string; timeoutSeconds: number},
): Promise<string | null> => {
  const query = {token: refreshToken}
  const answer = await client.call({
    operation: 'revoke',
    origin: hosts.accounts,
    method: 'POST',
    path: '/oauth/v2/token/revoke',
    query,
    timeoutSeconds,
  })
  if ('lost' in answer) return `The CRM's accounts host did not answer (${answer.lost})`
  const {status, error} = asObject(answer.json) ?? {}
  if (answer.status < 300 && error === undefined && status !== 'failure') return null
  return `The CRM's accounts host answered ${typeof error === 'string' ? error : `status ${answer.status}`}`
}

export const readRenewal = ({status, json}: {status: number; json: unknown}): Renewal => {
  const {access_token, expires_in, error} = asObject(json) ?? {}
  if (status < 300 && typeof access_token === 'string' && access_token) return {token: access_token, seconds: secondsOf(expires_in)}
  if (error === 'invalid_code') return {refused: 'ended', why: 'The CRM no longer accepts this grant', isCounted: false}
  if (error === 'Access Denied') return {refused: 'throttled', why: 'The CRM throttles renewals of this grant', isCounted: true}
  const detail = typeof error === 'string' ? error : `status ${status}`
  return {refused: 'failed', why: `The CRM's accounts host answered ${detail}`, isCounted: status >= 500 || typeof error !== 'string'}
}

/** Returns the lifetime of a token in seconds, at most an hour. Older versions answer milliseconds, which the limit turns into an hour. */
const secondsOf = (given: unknown) => (typeof given === 'number' && given > 0 ? Math.min(given, longestLifeSeconds) : longestLifeSeconds)
