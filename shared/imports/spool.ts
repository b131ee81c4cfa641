import {randomUUID} from 'node:crypto'
import {type FileHandle, open, readdir, rm, stat} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {Readable} from 'node:stream'

const pieceBytes = 128 * 1024
const nameShape = /^lading-[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/
const leftoverMs = 24 * 60 * 60 * 1000

export type Spooled = {
  bytes: number
  /** From the beginning, as often as it is asked for; null after `close`. */
  open(): Readable | null
  /** The space is given back when the last stream of it has ended. */
  close(): Promise<void>
}

/**
 * Writes the whole of it to disk first, so that what fails half-way can still be answered as a failure. The file has no name from its
 * beginning on: whatever becomes of it or of this process, nothing is left behind.
 */
export const spool = async (chunks: AsyncIterable<Uint8Array>, {directory = tmpdir()}: {directory?: string} = {}): Promise<Spooled> => {
  const path = join(directory, `lading-${randomUUID()}`)
  const file = await open(path, 'wx+', 0o600)
  let bytes = 0
  try {
    await rm(path)
    for await (const chunk of chunks) {
      await file.writeFile(chunk)
      bytes += chunk.length
    }
  } catch (error) {
    await file.close()
    throw error
  }
  let [readers, closed] = [0, false]
  const endIfOver = async () => {
    if (closed && readers === 0) await file.close()
  }
  return {
    bytes,
    open: () => {
      if (closed) return null
      readers++
      return Readable.from(readAll(file), {objectMode: false}).once('close', () => {
        readers--
        void endIfOver()
      })
    },
    close: async () => {
      if (closed) return
      closed = true
      await endIfOver()
    },
  }
}

/** Not a stream of the file's own: destroyed half-way, that would close the file under all the others. */
async function* readAll(file: FileHandle): AsyncGenerator<Buffer> {
  for (let at = 0; ; ) {
    const {bytesRead, buffer} = await file.read(Buffer.allocUnsafe(pieceBytes), 0, pieceBytes, at)
    if (bytesRead === 0) return
    at += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

/** A process that dies between making its file and taking its name away leaves it, and so does one on a system that cannot. Answers how many went. */
export const sweepSpools = async ({directory = tmpdir()}: {directory?: string} = {}): Promise<number> => {
  let swept = 0
  for (const name of (await readdir(directory)).filter(found => nameShape.test(found))) {
    const path = join(directory, name)
    const found = await stat(path).catch(() => null)
    if (!found?.isFile() || found.mtimeMs > Date.now() - leftoverMs) continue
    await rm(path, {force: true})
    swept++
  }
  return swept
}
