import {signal} from '@preact/signals'
import {ApiError, type Client, type Json, openClient} from '../../http.ts'
import {forgetKept} from './kept.ts'

export type Me = {
  org: {id: string; name: string} | null
  user: {id: string; email: string; name: string}
  role: Role | null
  via: string
  staff: boolean
  staffView: {write: boolean} | null
}
export type Role = 'operator' | 'builder' | 'admin' | 'owner'

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

const ranks: Role[] = ['operator', 'builder', 'admin', 'owner']

/** Whether the person may do what asks for this role: what they may not is not offered, and the server refuses it besides. */
export const isAtLeast = (role: Role): boolean => ranks.indexOf(me.value?.role ?? ('nobody' as Role)) >= ranks.indexOf(role)

export const openSession = async (given: string): Promise<void> => {
  token.value = given
  sessionStorage.setItem(key, given)
  await readMe()
}

export const signOut = (reason: string | null = null): void => {
  token.value = null
  sessionStorage.removeItem(key)
  if (reason === null) forgetKept()
  ended.value = reason
  me.value = null
}

export const readMe = async (): Promise<void> => {
  me.value = await client.get('/auth/me')
  ended.value = null
}

/** After a role or an org has changed: a session knows of neither until it is renewed. */
export const renewSession = async (): Promise<void> => {
  const {token: next} = await client.post('/auth/session/refresh')
  await openSession(next)
}

setInterval(() => {
  if (token.value !== null) renewSession().catch(() => {})
}, renewEveryMs)

function wrap(inner: Client): Client {
  const watch =
    <A extends unknown[], R>(call: (...sent: A) => Promise<R>) =>
    async (...sent: A): Promise<R> => {
      try {
        return await call(...sent)
      } catch (error) {
        if (error instanceof ApiError && error.status === 401) signOut(error.message)
        throw error
      }
    }
  const watched = Object.entries(inner).map(([name, part]) => [name, typeof part === 'function' ? watch(part as Json) : part])
  return Object.fromEntries(watched) as Client
}
