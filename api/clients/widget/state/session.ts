import {signal} from '@preact/signals'
import {ApiError, type Client, type Json, openClient} from '../../http.ts'
import {say} from '../ui/notice.ts'
import {forgetKept} from './kept.ts'
import {type Change, hasRank, mayChange, type Role, whyClosed} from './rights.ts'

export type Me = {
  org: {id: string; name: string} | null
  user: {id: string; email: string; name: string}
  role: Role | null
  via: string
  staff: boolean
  staffView: {write: boolean} | null
}
export type {Role}

const key = 'lading.session'
/** Interval of renewal. A session lasts eight hours. */
const renewEveryMs = 60 * 60_000

const token = signal<string | null>(sessionStorage.getItem(key))
/** The signed-in person. Null without a session, undefined while loading. */
export const me = signal<Me | null | undefined>(token.value === null ? null : undefined)
/** The reason why the session ended. Null if the person signed out. */
export const ended = signal<string | null>(null)

/** Returns the session's token, for requests by XMLHttpRequest. */
export const bearer = (): string | null => token.value

const bare: Client = openClient({base: location.origin, bearer: () => token.value})

/** The API client of this session. A 401 ends the session and shows the sign-in. */
export const client: Client = wrap(bare)

/** Returns a path below the current org: `inOrg('/imports')`. */
export const inOrg = (path = ''): string => `/orgs/${me.value?.org?.id}${path}`

/** Whether the person has the role. Pages hide what the role cannot use, and the server enforces it. */
export const isAtLeast = (role: Role): boolean => hasRank(me.value, role)

/** Whether the person may make a change. Staff views are limited. */
export const may = (role: Role, change: Change = 'write'): boolean => mayChange(me.value, role, change)

/** Returns why a staff view may not make the change, or null. */
export const whyNot = (role: Role, change: Change): string | null => whyClosed(me.value, role, change)

export const openSession = async (given: string): Promise<void> => {
  token.value = given
  sessionStorage.setItem(key, given)
  await readMe()
}

const lastKey = 'lading.last'

/** Deletes the drafts that another person or org left in this tab, and reloads the page to clear the memory. Returns whether it did. */
const leaveFormer = ({user, org}: Me): boolean => {
  const [former, now] = [sessionStorage.getItem(lastKey), `${user.id} ${org?.id ?? ''}`]
  sessionStorage.setItem(lastKey, now)
  // A person who now has a first org is still the same person, so the drafts stay.
  if (former === null || former === now || former === `${user.id} `) return false
  forgetKept()
  location.replace('#/')
  location.reload()
  return true
}

/** Ends the session in this tab. `reason` is null if the person signed out. */
export const leave = (reason: string | null): void => {
  token.value = null
  sessionStorage.removeItem(key)
  if (reason === null) forgetKept()
  ended.value = reason
  me.value = null
}

/** Signs out at once and ends the session on the server. */
export const signOut = (): void => {
  bare.delete('/auth/session').catch(error => {
    if (!(error instanceof ApiError && error.status === 401))
      say('Signed out here. The server could not be reached, so the session expires there within eight hours')
  })
  leave(null)
}

export const readMe = async (): Promise<void> => {
  const found = await client.get<Me>('/auth/me')
  if (leaveFormer(found)) return
  me.value = found
  ended.value = null
}

/** Renews the session, because only a renewal gives it a new role or org. */
export const renewSession = async (): Promise<void> => {
  const before = token.value
  const {token: next} = await client.post('/auth/session/refresh')
  // If the person has signed out or in since, the renewed token is dropped.
  if (token.value === before) await openSession(next)
}

// A failed renewal is retried after the interval. An expired session is reported by the next request.
setInterval(() => {
  if (token.value !== null) renewSession().catch(() => {})
}, renewEveryMs)

function wrap(inner: Client): Client {
  const watch =
    <A extends unknown[], R>(call: (...sent: A) => Promise<R>) =>
    async (...sent: A): Promise<R> => {
      const asked = token.value
      try {
        return await call(...sent)
      } catch (error) {
        // A late response to the previous session does not end this one.
        if (error instanceof ApiError && error.status === 401 && token.value === asked) leave(error.message)
        throw error
      }
    }
  const watched = Object.entries(inner).map(([name, part]) => [name, typeof part === 'function' ? watch(part as Json) : part])
  return Object.fromEntries(watched) as Client
}
