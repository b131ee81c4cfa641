import {randomUUID} from 'node:crypto'
import {createReadStream} from 'node:fs'
import {open, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import type {Readable} from 'node:stream'

export type Spooled = {
  path: string
  bytes: number
  open(): Readable
  remove(): Promise<void>
}

/** Writes the whole of it to a temporary file first, so that what fails half-way can still be answered as a failure. A failure leaves no file. */
export const spool = async (chunks: AsyncIterable<Uint8Array>, {directory = tmpdir()}: {directory?: string} = {}): Promise<Spooled> => {
  const path = join(directory, `lading-${randomUUID()}`)
  const remove = () => rm(path, {force: true})
  try {
    await using file = await open(path, 'wx', 0o600)
    let bytes = 0
    for await (const chunk of chunks) {
      await file.writeFile(chunk)
      bytes += chunk.length
    }
    return {path, bytes, open: () => createReadStream(path), remove}
  } catch (error) {
    await remove()
    throw error
  }
}
