import {ApiError, type Client} from '../http.ts'
import {signedOut, usage} from './failure.ts'
import type {Output} from './output.ts'
import {openPatient} from './patience.ts'
import {readProfiles, renewProfile} from './profiles.ts'
import type {Settings} from './settings.ts'

/** The API as somebody of an org. `path` is below the org. */
export type Session = {
  client: Client
  server: string
  org: string
  path(rest: string): string
  /** Renews a session that is past its half. Asked before whatever takes long. */
  keepFresh(): Promise<void>
}

/** What every command is handed. `interrupt` is for those that have something to say when they are interrupted. */
export type Cli = {
  out: Output
  settings: Settings
  /** As `--server` names it. */
  server(): string | undefined
  open(): Promise<Session>
  interrupt(): AbortSignal
  /** What the process will exit with, where the command came to its end and that is not 0. */
  exit(code: number): void
}

const usualServer = 'http://127.0.0.1:4000'

/** An address as people write it: without a scheme it is https, but on this machine. */
export const serverOf = (given: string): string => {
  const isLocal = /^(localhost|127\.|\[::1\])/.test(given)
  const text = /^https?:\/\//i.test(given) ? given : `${isLocal ? 'http' : 'https'}://${given}`
  const isOther = /^(?!https?:)[a-z][\w+.-]*:\/\//i.test(given)
  if (isOther || !URL.canParse(text)) throw usage(`${given} is no address of a server`, 'Write it as https://lading.example.com')
  const {origin, pathname, username, password} = new URL(text)
  if (username || password)
    throw usage('An address with a name or a password in it is not for lading', 'Write it as https://lading.example.com')
  return origin + pathname.replace(/\/+$/, '')
}

/** Which server is meant: as the command says, as the shell says, as was signed in to last, or this machine. */
export const chooseServer = async (settings: Settings, named: string | undefined): Promise<string> => {
  const given = named ?? settings.server
  if (given) return serverOf(given)
  return (await readProfiles(settings)).current ?? usualServer
}

/** `LADING_TOKEN` wins; else what a sign-in at this server left. */
export const openSession = async (settings: Settings, named: string | undefined): Promise<Session> => {
  const server = await chooseServer(settings, named)
  const profile = settings.token ? null : (await readProfiles(settings)).servers[server]
  if (!settings.token && !profile) throw signedOut(`Nobody is signed in at ${server}`, (named ?? settings.server) ? server : undefined)
  let token = settings.token ?? profile!.token
  const client = openPatient(server, () => token)
  const keepFresh = async () => {
    if (!profile || !isPastHalf(token)) return
    token = await renew(client, token)
    // One that cannot be kept is good for this command all the same; the next renews again.
    await renewProfile(settings, server, token).catch(() => {})
  }
  await keepFresh()
  const org = profile?.org ?? (await orgOf(client))
  return {client, server, org, path: rest => `/orgs/${org}/${rest}`, keepFresh}
}

const orgOf = async (client: Client): Promise<string> => {
  const {org} = await client.get('/auth/me')
  if (org) return org.id
  throw signedOut('This token or session is in no org')
}

/** One that cannot be renewed just now is good until it ends. */
const renew = async (client: Client, token: string): Promise<string> => {
  try {
    return (await client.post('/auth/session/refresh')).token
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) throw error
    return token
  }
}

/** Of a session, which says when it was made and when it ends. An API token says neither. */
export const isPastHalf = (token: string, now = Date.now()): boolean => {
  const life = lifeOf(token)
  return life !== null && now > (life.madeAt + life.endsAt) / 2
}

export const lifeOf = (token: string): {madeAt: number; endsAt: number} | null => {
  try {
    const {iat, exp} = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'))
    return typeof iat === 'number' && typeof exp === 'number' ? {madeAt: iat * 1000, endsAt: exp * 1000} : null
  } catch {
    return null
  }
}
