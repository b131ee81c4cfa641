import {chmod, mkdir, readFile, rename, rm, writeFile} from 'node:fs/promises'
import {dirname, join} from 'node:path'
import {badFile} from './failure.ts'
import type {Settings} from './settings.ts'

/** A stored session or API token of a server. */
type Profile = {token: string; org: string; orgName: string; email: string}
type StoredProfiles = {current: string | null; servers: Record<string, Profile>}

const fileOf = ({configDirectory}: Settings) => join(configDirectory, 'sessions.json')

/** Reads sessions by server from a file that only its owner can read. */
export const readProfiles = async (settings: Settings): Promise<StoredProfiles> => {
  const text = await readFile(fileOf(settings), 'utf8').catch(error => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (text === null) return {current: null, servers: {}}
  try {
    const {current, servers} = JSON.parse(text)
    if (typeof (servers ?? 0) === 'object' && (current === null || URL.canParse(current))) return {current, servers}
  } catch {}
  throw badFile(`${fileOf(settings)} is damaged`, 'Delete it, then sign in again: lading login')
}

/** Stores a session and makes its server the default. */
export const keepProfile = async (settings: Settings, server: string, profile: Profile) => {
  const {servers} = await readProfiles(settings)
  await write(settings, {current: server, servers: {...servers, [server]: profile}})
}

/** Replaces the token of a stored session. The default server stays. Changes nothing if another command stored another session meanwhile. */
export const replaceProfileToken = async (settings: Settings, server: string, before: string, token: string) => {
  const {current, servers} = await readProfiles(settings)
  if (servers[server]?.token === before) await write(settings, {current, servers: {...servers, [server]: {...servers[server], token}}})
}

/** Deletes the session of a server. Returns whether there was one. */
export const dropProfile = async (settings: Settings, server: string): Promise<boolean> => {
  const {current, servers} = await readProfiles(settings)
  if (!servers[server]) return false
  const {[server]: _, ...others} = servers
  await write(settings, {current: current === server ? (Object.keys(others)[0] ?? null) : current, servers: others})
  return true
}

/** Writes atomically, because another command may read the file. */
const write = async (settings: Settings, kept: StoredProfiles) => writePrivately(fileOf(settings), JSON.stringify(kept, null, 2))

export const writePrivately = async (path: string, text: string) => {
  await mkdir(dirname(path), {recursive: true, mode: 0o700})
  const draft = `${path}.${process.pid}.tmp`
  try {
    await writeFile(draft, text, {mode: 0o600})
    await chmod(draft, 0o600)
    await rename(draft, path)
  } catch (error) {
    await rm(draft, {force: true})
    throw error
  }
}
