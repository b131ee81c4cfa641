import {createHash} from 'node:crypto'
import type {Clock} from './clock.ts'
import type {Org, User} from './org.ts'
import type {Switches} from './switches.ts'

const codeLivesMs = 120_000
const accessLivesMs = 3600_000
const mintWindowMs = 600_000

export type Grant = {org: Org; user: User; clientId: string; dc: string; scopes: string[]}
export type Code = Grant & {code: string; redirectUri: string | null; offline: boolean; until: number; challenge: Challenge | null}
export type Challenge = {value: string; method: string}
export type RefreshToken = Grant & {token: string; at: number; mints: number[]}
export type AccessToken = Grant & {token: string; until: number; refreshToken: string | null}

/** Every code and token there is; a token is dead when it is no longer here, or its hour is over. */
export type Tokens = {
  codes: Map<string, Code>
  refresh: Map<string, RefreshToken>
  access: Map<string, AccessToken>
  consents: Set<string>
  issueCode: (grant: Grant, about: {redirectUri: string | null; offline: boolean; challenge: Challenge | null}) => Code
  /** Single use: a code taken is gone, however the exchange ends. */
  takeCode: (code: string) => Code | null
  issueRefresh: (grant: Grant) => RefreshToken | 'throttled'
  issueAccess: (grant: Grant, refreshToken: string | null) => AccessToken
  /** A mint counts for ten minutes; the one too many is throttled. */
  mint: (refresh: RefreshToken) => AccessToken | 'throttled'
  findAccess: (token: string) => AccessToken | null
  revoke: (token: string) => boolean
  forget: () => void
  count: () => number
  restore: (counter: number) => void
}

export const createTokens = (clock: Clock, switches: Switches): Tokens => {
  const codes = new Map<string, Code>()
  const refresh = new Map<string, RefreshToken>()
  const access = new Map<string, AccessToken>()
  const consents = new Set<string>()
  let counter = 0
  const opaque = () => `1000.${digest(`part one ${(counter += 1)}`)}.${digest(`part two ${counter}`)}`

  const killAccess = (refreshToken: string) => {
    for (const [token, one] of access) if (one.refreshToken === refreshToken) access.delete(token)
  }
  const issueAccess = (grant: Grant, refreshToken: string | null): AccessToken => {
    const {org, user, clientId, dc, scopes} = grant
    const issued = {org, user, clientId, dc, scopes, token: opaque(), until: clock.now() + accessLivesMs, refreshToken}
    access.set(issued.token, issued)
    if (switches.liveAccessTokens !== null && refreshToken !== null) {
      const alive = [...access.values()].filter(one => one.refreshToken === refreshToken)
      for (const one of alive.slice(0, -switches.liveAccessTokens)) access.delete(one.token)
    }
    return issued
  }
  const issueRefresh = (grant: Grant): RefreshToken | 'throttled' => {
    const {org, user, clientId, dc, scopes} = grant
    const own = [...refresh.values()].filter(one => one.user === user && one.clientId === clientId)
    const recent = own.filter(one => one.at > clock.now() - 60_000)
    if (switches.refreshTokensPerMinute !== null && recent.length >= switches.refreshTokensPerMinute) return 'throttled'
    const isOneTooMany = own.length >= switches.refreshTokensPerUser
    for (const one of isOneTooMany ? own.slice(0, own.length - switches.refreshTokensPerUser + 1) : []) refresh.delete(one.token)
    const issued = {org, user, clientId, dc, scopes, token: opaque(), at: clock.now(), mints: []}
    refresh.set(issued.token, issued)
    return issued
  }
  return {
    codes,
    refresh,
    access,
    consents,
    issueAccess,
    issueRefresh,
    issueCode: (grant, about) => {
      const code = {...grant, ...about, code: opaque(), until: clock.now() + codeLivesMs}
      codes.set(code.code, code)
      return code
    },
    takeCode: text => {
      const code = codes.get(text)
      codes.delete(text)
      return code && code.until >= clock.now() ? code : null
    },
    mint: one => {
      const now = clock.now()
      one.mints = one.mints.filter(at => at > now - mintWindowMs)
      if (one.mints.length >= switches.mintsPerTenMinutes) return 'throttled'
      one.mints.push(now)
      return issueAccess(one, one.token)
    },
    findAccess: token => {
      const found = access.get(token)
      return found && found.until > clock.now() ? found : null
    },
    revoke: token => {
      if (access.delete(token)) return true
      killAccess(token)
      return refresh.delete(token)
    },
    forget: () => {
      codes.clear()
      refresh.clear()
      access.clear()
      consents.clear()
    },
    count: () => counter,
    restore: to => {
      counter = to
    },
  }
}

const digest = (text: string) => createHash('sha256').update(`stand-in ${text}`).digest('hex').slice(0, 32)
