import {createWriteStream, rmSync} from 'node:fs'
import {realpath, rename, stat} from 'node:fs/promises'
import {Readable} from 'node:stream'
import {pipeline} from 'node:stream/promises'
import {ApiError, Unreachable} from '../http.ts'
import {badFile} from './failure.ts'

/** Streams the body of a response. Throws Unreachable if the connection breaks before the end. */
export const bodyOf = (response: Response, base: string): Readable => Readable.from(readWhole(response, base))

async function* readWhole({body}: Response, base: string) {
  try {
    yield* body as AsyncIterable<Uint8Array>
  } catch (error) {
    // A large file is read in several requests, and the API may refuse a later one.
    if (error instanceof ApiError) throw error
    throw new Unreachable(`The connection to ${new URL(base).origin} broke before the file was complete`, {cause: error})
  }
}

/**
 * Saves a stream to a file. Writes to a draft and renames it at the end, so that an interrupted download leaves an existing file unchanged. The
 * draft has the mode of the existing file, and replaces the target of a symbolic link. Writes directly to a device or a pipe.
 */
export const saveFile = async (path: string, body: Readable): Promise<void> => {
  const found = await stat(path).catch(() => null)
  const write = (to: string) =>
    pipeline(body, createWriteStream(to, found ? {mode: found.mode & 0o777} : {})).catch(error => {
      throw error.syscall === 'open' ? badFile(`Could not write ${path} (${error.code})`, 'Check the path and its permissions') : error
    })
  if (found && !found.isFile()) return write(path)
  const target = found ? await realpath(path) : path
  const draft = `${target}.${process.pid}.part`
  const remove = () => rmSync(draft, {force: true})
  process.once('exit', remove)
  await write(draft)
  await rename(draft, target)
  process.off('exit', remove)
}
