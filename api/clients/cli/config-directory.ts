import {mkdir, readdir, readFile, rename, rm, writeFile} from 'node:fs/promises'
import {dirname, join, sep} from 'node:path'
import {type Base, type Files, isOurs, withLineFeeds} from './config-files.ts'
import {badFile, usage} from './failure.ts'
import {withoutMark} from './inputs.ts'
import type {Session} from './session.ts'
import {formatJson} from './stable-json.ts'

/**
 * The contents of `.lading.json`: the server, the org, and the version on which the next push is based. `files`: hashes of the files at the
 * last pull or push.
 */
export type Origin = {server: string; org: string; version: number; etag: string; files: Base}

const originFile = '.lading.json'

export const readOrigin = async (directory: string): Promise<Origin | null> => {
  const text = await readFile(join(directory, originFile), 'utf8').catch(error => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
    throw error
  })
  if (text === null) return null
  try {
    const {server, org, version, etag, files} = JSON.parse(text)
    if (typeof etag === 'string' && typeof org === 'string' && files) return {server, org, version, etag, files}
  } catch {}
  throw badFile(`${join(directory, originFile)} is damaged`, 'Restore it from the repository, or delete it and pull')
}

export const writeOrigin = (directory: string, origin: Origin) =>
  writeWhole(join(directory, originFile), formatJson({format: 1, ...origin}))

/** Writes atomically, because a partly written file would look like a local change. */
const writeWhole = async (path: string, text: string) => {
  await writeFile(`${path}.part`, text)
  await rename(`${path}.part`, path)
}

/** Throws if the directory belongs to another org, because the ids of connections differ between orgs. */
export const assertOrigin = (origin: Origin, {org, server}: Session, directory: string) => {
  if (origin.org === org) return
  throw usage(
    `${directory} holds the configuration of ${origin.org} on ${origin.server}, but you are signed in to ${org} on ${server}`,
    'Sign in to that org, or pull into another directory',
  )
}

/** Normalises the files, so that JSON layout and Windows line endings are not seen as changes. */
export const readFiles = async (directory: string): Promise<Files> => {
  const found = await readdir(directory, {recursive: true}).catch(error => {
    if (error.code === 'ENOENT') return []
    if (error.code === 'ENOTDIR') throw badFile(`${directory} is not a directory`)
    throw error
  })
  const paths = found.map(path => path.split(sep).join('/')).filter(isOurs)
  const read = paths.sort().map(async path => [path, comparable(path, await readFile(join(directory, path), 'utf8'))] as const)
  return new Map(await Promise.all(read))
}

const comparable = (path: string, text: string) => {
  if (!path.endsWith('.json')) return withLineFeeds(text)
  try {
    return formatJson(JSON.parse(withoutMark(text)))
  } catch {
    return text
  }
}

export const writeFiles = async (directory: string, files: Files, {take, drop}: {take: string[]; drop: string[]}) => {
  for (const path of take) {
    if (!isOurs(path)) throw new Error(`The server sent a file outside the configuration: ${path}`)
    await mkdir(join(directory, dirname(path)), {recursive: true})
    await writeWhole(join(directory, path), files.get(path)!)
  }
  for (const path of drop) await rm(join(directory, path), {force: true})
}
