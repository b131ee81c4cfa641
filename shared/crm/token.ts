import type {Config} from '../config.ts'
import type {Client} from './client.ts'
import {asObject} from './error.ts'
import type {Hosts} from './hosts.ts'

export type Renewal = {token: string; seconds: number} | {refused: 'ended' | 'throttled' | 'failed'; why: string}

type Credentials = Pick<Config, 'CRM_CLIENT_ID' | 'CRM_CLIENT_SECRET'>

const longestLifeSeconds = 3600

/**
 * Asks the data centre's accounts host for an access token. Its refusals often come with HTTP 200, and the throttle with 400:
 * only the body tells them apart. The refresh token itself is never rotated.
 */
export const renewToken = async (
  client: Client,
  {config, hosts, refreshToken, timeoutSeconds}: {config: Credentials; hosts: Hosts; refreshToken: string; timeoutSeconds: number},
): Promise<Renewal> => {
  const form = new URLSearchParams({
    grant_type: 'refresh_token',
    client_id: config.CRM_CLIENT_ID,
    client_secret: config.CRM_CLIENT_SECRET,
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
  if ('lost' in answer) return {refused: 'failed', why: `The CRM's accounts host did not answer (${answer.lost})`}
  return readRenewal(answer)
}

/** The refresh token and the access tokens minted from it end there. Answers why it did not work, or null. */
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
  if (error === 'invalid_code') return {refused: 'ended', why: 'The CRM no longer honours this grant'}
  if (error === 'Access Denied') return {refused: 'throttled', why: 'The CRM throttles renewals of this grant'}
  const said = typeof error === 'string' ? error : `status ${status}`
  return {refused: 'failed', why: `The CRM's accounts host answered ${said}`}
}

/** Old versions gave milliseconds here: no access token lives longer than an hour. */
const secondsOf = (given: unknown) => (typeof given === 'number' && given > 0 ? Math.min(given, longestLifeSeconds) : longestLifeSeconds)
