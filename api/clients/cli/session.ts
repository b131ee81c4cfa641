import {ApiError, type Client} from '../http.ts'
import {openRetryingClient} from '../retry.ts'
import {signedOut, usage} from './failure.ts'
import type {Output} from './output.ts'
import {readProfiles, replaceProfileToken} from './profiles.ts'
import type {Settings} from './settings.ts'

/** The API client for one org. `path` returns paths below the org. */
export type Session = {
  client: Client
  server: string
  org: string
  path(rest: string): string
  /** Renews a session that is past half of its lifetime. Call it before anything that takes long. */
  keepFresh(): Promise<void>
}

/** The session of a command. `time` formats a time as the output of the command does. */
export type CommandSession = Session & Pick<Output, 'time'>

/** The input of every command. A command that handles signals itself calls `interrupt`. */
export type Cli = {
  out: Output
  settings: Settings
  /** The value of `--server`. */
  server(): string | undefined
  open(): Promise<CommandSession>
  interrupt(): AbortSignal
  /** Sets the exit code of a command that ends normally. */
  exit(code: number): void
}

const usualServer = 'http://127.0.0.1:4000'

/** Whether an address without a scheme is on this machine. */
export const isOnThisMachine = (address: string): boolean => /^(localhost|127\.[\d.]+|\[::1\])([:/]|$)/.test(address)

/** Parses the address of a server. An address without a scheme means https, or http on this machine. */
export const serverOf = (given: string): string => {
  const text = /^https?:\/\//i.test(given) ? given : `${isOnThisMachine(given) ? 'http' : 'https'}://${given}`
  const isOther = /^(?!https?:)[a-z][\w+.-]*:\/\//i.test(given)
  if (isOther || !URL.canParse(text)) throw usage(`${given} is not a server URL`, 'Use a URL such as https://lading.example.com')
  const {origin, pathname, username, password} = new URL(text)
  if (username || password)
    throw usage('The server URL must not contain a user name or password', 'Use a URL such as https://lading.example.com')
  return origin + pathname.replace(/\/+$/, '')
}

/** Returns the server of --server, else of LADING_URL, else of the last sign-in, else the default on this machine. */
export const chooseServer = async (settings: Settings, named: string | undefined): Promise<string> => {
  const given = named ?? settings.server
  if (given) return serverOf(given)
  return (await readProfiles(settings)).current ?? usualServer
}

/** Opens a session with `LADING_TOKEN`, or else with the stored session of the server. */
export const openSession = async (settings: Settings, named: string | undefined): Promise<Session> => {
  const server = await chooseServer(settings, named)
  const profile = settings.token ? null : (await readProfiles(settings)).servers[server]
  if (!settings.token && !profile) throw signedOut(`You are not signed in to ${server}`, (named ?? settings.server) ? server : undefined)
  let token = settings.token ?? profile!.token
  const client = openRetryingClient(server, () => token)
  const keepFresh = async () => {
    if (!profile || !isPastHalf(token)) return
    const before = token
    token = await renew(client, before)
    // A failure to store the token is ignored, because the next command renews the session again.
    await replaceProfileToken(settings, server, before, token).catch(() => {})
  }
  await keepFresh()
  const org = profile?.org ?? (await orgOf(client))
  return {client, server, org, path: rest => `/orgs/${org}/${rest}`, keepFresh}
}

/** Reads the org's date format, and ignores errors: the command's own request fails for the same reason and reports it. */
export const readDateFormat = async ({client}: Session): Promise<string | undefined> => {
  const me = await client.get('/auth/me').catch(() => null)
  return me?.org?.dateFormat
}

const orgOf = async (client: Client): Promise<string> => {
  const {org} = await client.get('/auth/me')
  if (org) return org.id
  throw signedOut('This token or session belongs to no org')
}

/**
 * Returns a renewed session token. If the renewal fails, returns the old token, which is used until it expires. Throws if the session has ended.
 */
const renew = async (client: Client, token: string): Promise<string> => {
  try {
    return (await client.post('/auth/session/refresh')).token
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) throw error
    return token
  }
}

/** Whether a session token is past half of its lifetime. False for API tokens, which contain no times. */
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
