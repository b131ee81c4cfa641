import type {ExecutionContext} from 'ava'
import {type CrmOptions, type CrmSimulator, startCrm} from './crm.ts'

export type Reply = {status: number; body: any; headers: Headers}
export type Call = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Reply>

export const redirectUri = 'http://127.0.0.1:9/callback'
export const client = {client_id: '1000.LADING', client_secret: 'stand-in-secret'}

/** Starts a stand-in with a frozen clock, which stops after the test, and returns a function that calls the CRM as Ana. */
export const openCrm = async (t: ExecutionContext, options: CrmOptions = {}): Promise<{crm: CrmSimulator; call: Call}> => {
  const crm = await startCrm({clock: {at: '2026-03-02T08:15:40Z', frozen: true}, ...options})
  t.teardown(crm.stop)
  return {crm, call: callAs(crm, 'ana@example.org')}
}

export const callAs = (crm: CrmSimulator, email: string, scopes?: string[]): Call =>
  callWith(crm.url, crm.grant({email, ...(scopes ? {scopes} : {})}).accessToken)

/** Returns a function that calls a path of the record API, or a whole path if it begins with a slash. */
export const callWith =
  (url: string, token: string): Call =>
  (method, path, body, headers = {}) =>
    request(`${url}${path.startsWith('/') ? path : `/crm/v8/${path}`}`, {
      method,
      headers: {authorization: `Zoho-oauthtoken ${token}`, ...headers},
      ...(body === undefined ? {} : {body: typeof body === 'string' ? body : JSON.stringify(body)}),
    })

export const request = async (url: string, init: RequestInit = {}): Promise<Reply> => {
  const response = await fetch(url, {redirect: 'manual', ...init})
  const text = await response.text()
  return {status: response.status, headers: response.headers, body: text === '' ? null : readBody(text)}
}

export const authorise = async (crm: CrmSimulator, more: Record<string, string> = {}, host = crm.url): Promise<URL> => {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: redirectUri,
    scope: 'ZohoCRM.modules.ALL,ZohoCRM.org.READ',
    access_type: 'offline',
    prompt: 'consent',
    state: 'the state',
    sim_user: 'ana@example.org',
    sim_decision: 'allow',
    ...more,
  })
  const {headers} = await request(`${host}/oauth/v2/auth?${query}`)
  return new URL(headers.get('location') ?? 'none:')
}

export const exchange = (crm: CrmSimulator, code: string, more: Record<string, string> = {}, host = crm.url): Promise<Reply> =>
  askToken(host, {grant_type: 'authorization_code', redirect_uri: redirectUri, code, ...more})

export const refresh = (crm: CrmSimulator, refreshToken: string, more: Record<string, string> = {}): Promise<Reply> =>
  askToken(crm.url, {grant_type: 'refresh_token', refresh_token: refreshToken, ...more})

export const askToken = (host: string, form: Record<string, string>): Promise<Reply> =>
  request(`${host}/oauth/v2/token`, {method: 'POST', body: new URLSearchParams({...client, ...form})})

export const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await new Promise(resolve => setImmediate(resolve))
}

export const ids = (reply: Reply): string[] => reply.body.data.map((entry: any) => entry.details.id)
export const codes = (reply: Reply): string[] => reply.body.data.map((entry: any) => entry.code)

const readBody = (text: string): any => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
