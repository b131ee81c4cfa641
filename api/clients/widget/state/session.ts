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
/** A session lasts eight hours; it is renewed long before, as long as the page is open. */
const renewEveryMs = 60 * 60_000

const token = signal<string | null>(sessionStorage.getItem(key))
/** Who is signed in; null while nobody is, undefined until that is known. */
export const me = signal<Me | null | undefined>(token.value === null ? null : undefined)
/** Why the person has to sign in again, where it was not their own doing. */
export const ended = signal<string | null>(null)

/** For what `fetch` cannot do, such as telling how much was sent. */
export const bearer = (): string | null => token.value

const bare: Client = openClient({base: location.origin, bearer: () => token.value})

/** The API under this session. A 401 ends the session, and the page asks the person to sign in where they are. */
export const client: Client = wrap(bare)

/** The path of the org that is signed in to: `inOrg('/imports')`. */
export const inOrg = (path = ''): string => `/orgs/${me.value?.org?.id}${path}`

/** Whether the person may see what asks for this role: what they may not is not offered, and the server refuses it besides. */
export const isAtLeast = (role: Role): boolean => hasRank(me.value, role)

/** Whether they may change what asks for this role, which a staff member's view of an org may be closed to. */
export const may = (role: Role, change: Change = 'write'): boolean => mayChange(me.value, role, change)

/** Why a staff view may not; null where nothing has to be told. */
export const whyNot = (role: Role, change: Change): string | null => whyClosed(me.value, role, change)

export const openSession = async (given: string): Promise<void> => {
  token.value = given
  sessionStorage.setItem(key, given)
  await readMe()
}

const lastKey = 'lading.last'

/** What somebody else left in this tab goes: the drafts, and with a reload whatever pages hold in memory and files on their way. */
const leaveFormer = ({user, org}: Me): boolean => {
  const [former, now] = [sessionStorage.getItem(lastKey), `${user.id} ${org?.id ?? ''}`]
  sessionStorage.setItem(lastKey, now)
  // Somebody without an org, who has one now, is nobody else.
  if (former === null || former === now || former === `${user.id} `) return false
  forgetKept()
  location.replace('#/')
  location.reload()
  return true
}

/** No session here any more: by the person's own doing, or for a reason they are told. */
export const leave = (reason: string | null): void => {
  token.value = null
  sessionStorage.removeItem(key)
  if (reason === null) forgetKept()
  ended.value = reason
  me.value = null
}

/** Out at once; the server is told to end the session wherever else it is. */
export const signOut = (): void => {
  bare.delete('/auth/session').catch(error => {
    if (!(error instanceof ApiError && error.status === 401))
      say('Signed out here. The server was not told: there the session ends within eight hours')
  })
  leave(null)
}

export const readMe = async (): Promise<void> => {
  const found = await client.get<Me>('/auth/me')
  if (leaveFormer(found)) return
  me.value = found
  ended.value = null
}

/** After a role or an org has changed: a session knows of neither until it is renewed. */
export const renewSession = async (): Promise<void> => {
  const before = token.value
  const {token: next} = await client.post('/auth/session/refresh')
  // Whoever signed out meanwhile has signed out.
  if (token.value === before) await openSession(next)
}

// One that fails is tried again in an hour, and a session that is over says so at the next call.
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
        // A late answer to the session before says nothing of this one.
        if (error instanceof ApiError && error.status === 401 && token.value === asked) leave(error.message)
        throw error
      }
    }
  const watched = Object.entries(inner).map(([name, part]) => [name, typeof part === 'function' ? watch(part as Json) : part])
  return Object.fromEntries(watched) as Client
}
