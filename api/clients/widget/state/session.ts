import {signal} from '@preact/signals'
import {ApiError, type Client, type Json, openClient} from '../../http.ts'
import {messageOf} from '../text/errors.ts'
import {t} from '../text/shell.ts'
import {dateFormat} from '../ui/format.ts'
import {say} from '../ui/notice.ts'
import {type EmbedSession, embed, embedToken} from './embed.ts'
import {forgetKept} from './kept.ts'
import {sessions} from './load.ts'
import {go} from './place.ts'
import {type Change, hasRank, mayChange, type Role, whyClosed} from './rights.ts'

export type Me = {
  org: {id: string; name: string; dateFormat: string} | null
  user: {id: string; email: string; name: string}
  role: Role | null
  via: string
  staff: boolean
  staffView: {write: boolean} | null
}
export type {Role}

/** The header that proves that a page of the API's origin sends the request. The API requires it because the session is in a cookie. */
const csrfHeaders = {'x-lading-csrf': '1'}

/** The interval between renewals. A session lasts eight hours. */
const renewEveryMs = 60 * 60_000
const lookEveryMs = 60_000
const renewedKey = 'lading.renewed'

/** The signed-in person, or the last one if the session ended but its page stays. Null without a session, undefined while loading. */
export const me = signal<Me | null | undefined>(undefined)
/** The reason why the session ended. Null if the person signed out, is signed in, or closed the sign-in. */
export const ended = signal<string | null>(null)

/** Counts the sessions of this tab, so that a late response to a former session is recognised. */
let round = 0

const bare: Client = openClient({base: location.origin, bearer: embedToken, headers: csrfHeaders})

/** Returns the authentication headers for requests that `client` does not send. */
export const sessionHeaders = (): Record<string, string> => {
  const token = embedToken()
  return token === null ? csrfHeaders : {authorization: `bearer ${token}`}
}

/** The API client of this session. A 401 ends the session and shows the sign-in over the page. */
export const client: Client = wrap(bare)

/** Messages between the tabs: `changed` if the cookie now contains another session, `ended` after a sign-out. */
const tabs = new BroadcastChannel('lading.session')
tabs.onmessage = ({data}) => {
  if (embed.value) return
  if (data === 'ended') return leave(null)
  round++
  readMe().catch(() => {})
}

/** Returns an API path below the current org: `inOrg('/imports')`. */
export const inOrg = (path = ''): string => `/orgs/${me.value?.org?.id}${path}`

/** Whether the person has the role or a higher one. Pages only hide what a lower role cannot use; the server enforces the roles. */
export const isAtLeast = (role: Role): boolean => hasRank(me.value, role)

export const may = (role: Role, change: Change = 'write'): boolean => mayChange(me.value, role, change)

export const whyNot = (role: Role, change: Change): string | null => whyClosed(me.value, role, change)

/** Loads the person of the session in the cookie, and makes the other tabs do the same. Call it after the cookie changed. */
export const openSession = async (): Promise<void> => {
  round++
  markRenewed()
  await readMe()
  tabs.postMessage('changed')
}

const markRenewed = () => localStorage.setItem(renewedKey, String(Date.now()))

const lastKey = 'lading.last'

/**
 * If another person or org used this tab before, deletes the drafts and reloads the page to clear the memory. Returns whether the page reloads.
 */
const leaveFormer = ({user, org}: Me): boolean => {
  const [former, now] = [sessionStorage.getItem(lastKey), `${user.id} ${org?.id ?? ''}`]
  sessionStorage.setItem(lastKey, now)
  // A person who now has a first org is still the same person, so the drafts stay.
  if (former === null || former === now || former === `${user.id} `) return false
  forgetKept()
  // The page of another person is removed first, because the browser would let a form with unsaved changes stop the reload.
  if (!former.startsWith(`${user.id} `)) me.value = null
  go('#/', {replace: true})
  setTimeout(() => location.reload())
  return true
}

/**
 * Ends the session in this tab. If the person signed out, `reason` is null, and the page and the drafts are removed. Otherwise the page stays, and
 * the sign-in is shown over it. An embedded page, which cannot show it, is removed.
 */
const leave = (reason: string | null): void => {
  round++
  if (reason === null) forgetKept()
  ended.value = reason
  if (reason === null || embed.value) me.value = null
}

/** Signs out at once, in every tab, and ends the session on the server. */
export const signOut = (): void => {
  bare.delete('/auth/session').catch(error => {
    if (!(error instanceof ApiError && error.status === 401)) say(t.notSignedOut)
  })
  tabs.postMessage('ended')
  leave(null)
}

/** Reads the person of the cookie's session. A first read without a session shows the sign-in. */
export const readMe = async (): Promise<void> => {
  const isFirst = me.value === undefined
  const found = await (isFirst ? bare : client).get<Me>('/auth/me').catch(error => {
    if (isFirst && error instanceof ApiError && error.status === 401) return null
    throw error
  })
  if (found && leaveFormer(found)) return
  if (found?.org) dateFormat.value = found.org.dateFormat
  me.value = found
  ended.value = null
  sessions.value++
}

/** Begins a session of an embed token. The token names no person, and has the lowest role. */
export const enterEmbedded = (session: EmbedSession): void => {
  round++
  embed.value = session
  dateFormat.value = session.org.dateFormat
  const user = {id: '', email: '', name: ''}
  me.value = {org: session.org, user, role: 'operator', via: 'token', staff: false, staffView: null}
  ended.value = null
}

/** Renews the session. A new role or org takes effect only through a renewal. */
export const renewSession = async (): Promise<void> => {
  const before = round
  await client.post('/auth/session/refresh')
  // Ignores the response if the person signed out, or signed in again, during the request.
  if (round === before) await openSession()
}

// One tab renews for all. A failed renewal is tried again after a minute. An expired session is reported by the next request.
setInterval(() => {
  if (me.value && !embed.value && ended.value === null && Date.now() - Number(localStorage.getItem(renewedKey) ?? 0) > renewEveryMs)
    renewSession().catch(() => {})
}, lookEveryMs)

function wrap(inner: Client): Client {
  const watched = Object.entries(inner).map(([name, part]) => [name, typeof part === 'function' ? endOnRefusal(part as Json) : part])
  return Object.fromEntries(watched) as Client
}

/** Wraps a call so that a 401 response ends the session. A late 401 response to an earlier session does not end the current one. */
export function endOnRefusal<A extends unknown[], R>(call: (...sent: A) => Promise<R>): (...sent: A) => Promise<R> {
  return async (...sent) => {
    const before = round
    try {
      return await call(...sent)
    } catch (error) {
      if (error instanceof ApiError && error.status === 401 && round === before) leave(messageOf(error))
      throw error
    }
  }
}
