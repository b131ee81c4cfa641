import {randomBytes} from 'node:crypto'
import type {Clock} from './clock.ts'
import type {Org, User} from './org.ts'
import type {Switches} from './switches.ts'

const codeLivesMs = 120_000
const mintWindowMs = 600_000

export type Grant = {org: Org; user: User; clientId: string; dc: string; scopes: string[]}
export type Code = Grant & {code: string; redirectUri: string | null; offline: boolean; until: number; challenge: Challenge | null}
export type Challenge = {value: string; method: string}
export type RefreshToken = Grant & {token: string; at: number; mints: number[]}
export type AccessToken = Grant & {token: string; until: number; refreshToken: string | null}

/** All codes and tokens. A token is valid while it is in these maps and has not expired. */
export type Tokens = {
  codes: Map<string, Code>
  refresh: Map<string, RefreshToken>
  access: Map<string, AccessToken>
  consents: Set<string>
  issueCode: (grant: Grant, about: {redirectUri: string | null; offline: boolean; challenge: Challenge | null}) => Code
  /** Returns a code that has not expired, or null. A code works once, so each call removes it. */
  takeCode: (code: string) => Code | null
  issueRefresh: (grant: Grant) => RefreshToken | 'throttled'
  issueAccess: (grant: Grant, refreshToken: string | null) => AccessToken
  /** Issues an access token for a refresh token, or returns 'throttled' if too many were issued in the last ten minutes. */
  mint: (refresh: RefreshToken) => AccessToken | 'throttled'
  findAccess: (token: string) => AccessToken | null
  revoke: (token: string) => boolean
  forget: () => void
}

export const createTokens = (clock: Clock, switches: Switches): Tokens => {
  const book: Book = {clock, switches, codes: new Map(), refresh: new Map(), access: new Map()}
  const consents = new Set<string>()
  return {
    codes: book.codes,
    refresh: book.refresh,
    access: book.access,
    consents,
    issueCode: (grant, about) => issueCode(book, grant, about),
    issueRefresh: grant => issueRefresh(book, grant),
    issueAccess: (grant, refreshToken) => issueAccess(book, grant, refreshToken),
    mint: refresh => mint(book, refresh),
    takeCode: text => {
      const code = book.codes.get(text)
      book.codes.delete(text)
      return code && code.until >= clock.now() ? code : null
    },
    findAccess: token => {
      const found = book.access.get(token)
      return found && found.until > clock.now() ? found : null
    },
    revoke: token => {
      if (book.access.delete(token)) return true
      for (const [key, one] of book.access) if (one.refreshToken === token) book.access.delete(key)
      return book.refresh.delete(token)
    },
    forget: () => {
      for (const kept of [book.codes, book.refresh, book.access, consents]) kept.clear()
    },
  }
}

type Book = Pick<Tokens, 'codes' | 'refresh' | 'access'> & {clock: Clock; switches: Switches}

const issueCode = (book: Book, grant: Grant, about: {redirectUri: string | null; offline: boolean; challenge: Challenge | null}): Code => {
  const code = {...grant, ...about, code: opaque(), until: book.clock.now() + codeLivesMs}
  book.codes.set(code.code, code)
  return code
}

const issueRefresh = (book: Book, grant: Grant): RefreshToken | 'throttled' => {
  const {clock, switches, refresh} = book
  const own = [...refresh.values()].filter(one => one.user === grant.user && one.clientId === grant.clientId)
  const recent = own.filter(one => one.at > clock.now() - 60_000)
  if (switches.refreshTokensPerMinute !== null && recent.length >= switches.refreshTokensPerMinute) return 'throttled'
  const tooMany = Math.max(0, own.length - switches.refreshTokensPerUser + 1)
  for (const one of own.slice(0, tooMany)) refresh.delete(one.token)
  const issued = {...grantIn(grant), token: opaque(), at: clock.now(), mints: []}
  refresh.set(issued.token, issued)
  return issued
}

const issueAccess = (book: Book, grant: Grant, refreshToken: string | null): AccessToken => {
  const {clock, switches, access} = book
  const issued = {...grantIn(grant), token: opaque(), until: clock.now() + 1000 * switches.accessTokenSeconds, refreshToken}
  access.set(issued.token, issued)
  if (switches.liveAccessTokens === null || refreshToken === null) return issued
  const alive = [...access.values()].filter(one => one.refreshToken === refreshToken)
  for (const one of alive.slice(0, -switches.liveAccessTokens)) access.delete(one.token)
  return issued
}

const mint = (book: Book, refresh: RefreshToken): AccessToken | 'throttled' => {
  const now = book.clock.now()
  refresh.mints = refresh.mints.filter(at => at > now - mintWindowMs)
  if (refresh.mints.length >= book.switches.mintsPerTenMinutes) return 'throttled'
  refresh.mints.push(now)
  return issueAccess(book, refresh, refresh.token)
}

const grantIn = ({org, user, clientId, dc, scopes}: Grant): Grant => ({org, user, clientId, dc, scopes})

/** Returns a random token. It differs between runs, so that a token works with one stand-in only. */
const opaque = () => `1000.${randomBytes(16).toString('hex')}.${randomBytes(16).toString('hex')}`
