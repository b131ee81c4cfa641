import {chmod, mkdir, readFile, rename, rm, writeFile} from 'node:fs/promises'
import {dirname, join} from 'node:path'
import {badFile} from './failure.ts'
import type {Settings} from './settings.ts'

/** What a sign-in at a server left: a session, or a token that was given. */
type Profile = {token: string; org: string; orgName: string; email: string}
type Kept = {current: string | null; servers: Record<string, Profile>}

const fileOf = ({configDirectory}: Settings) => join(configDirectory, 'sessions.json')

/** Sessions by server, in one file that its owner alone can read. */
export const readProfiles = async (settings: Settings): Promise<Kept> => {
  const text = await readFile(fileOf(settings), 'utf8').catch(error => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (text === null) return {current: null, servers: {}}
  try {
    const {current, servers} = JSON.parse(text)
    if (typeof (servers ?? 0) === 'object' && (current === null || URL.canParse(current))) return {current, servers}
  } catch {}
  throw badFile(`${fileOf(settings)} is not what lading wrote there`, 'Delete it, and sign in again: lading login')
}

/** Signed in at it, and the one that is meant from now on. */
export const keepProfile = async (settings: Settings, server: string, profile: Profile) => {
  const {servers} = await readProfiles(settings)
  await write(settings, {current: server, servers: {...servers, [server]: profile}})
}

/** A session renewed, without a word on which server is meant. */
export const renewProfile = async (settings: Settings, server: string, token: string) => {
  const {current, servers} = await readProfiles(settings)
  if (servers[server]) await write(settings, {current, servers: {...servers, [server]: {...servers[server], token}}})
}

/** Whether there was one. */
export const dropProfile = async (settings: Settings, server: string): Promise<boolean> => {
  const {current, servers} = await readProfiles(settings)
  if (!servers[server]) return false
  const {[server]: _, ...others} = servers
  await write(settings, {current: current === server ? (Object.keys(others)[0] ?? null) : current, servers: others})
  return true
}

/** Whole or not at all: another command may be reading it. */
const write = async (settings: Settings, kept: Kept) => writePrivately(fileOf(settings), JSON.stringify(kept, null, 2))

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
