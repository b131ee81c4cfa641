import {createWriteStream, rmSync} from 'node:fs'
import {rename} from 'node:fs/promises'
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

/** Saves a stream to a file. Writes to a draft and renames it at the end, so that an interrupted download leaves an existing file unchanged. */
export const saveFile = async (path: string, body: Readable): Promise<void> => {
  const draft = `${path}.${process.pid}.part`
  const remove = () => rmSync(draft, {force: true})
  process.once('exit', remove)
  await pipeline(body, createWriteStream(draft)).catch(error => {
    throw error.syscall === 'open' ? badFile(`Could not write ${path} (${error.code})`, 'Check the path and its permissions') : error
  })
  await rename(draft, path)
  process.off('exit', remove)
}
