import {randomUUID} from 'node:crypto'
import {type FileHandle, open, readdir, rm, stat} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {Readable} from 'node:stream'

const pieceBytes = 128 * 1024
const nameShape = /^lading-[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/
const leftoverMs = 24 * 60 * 60 * 1000

export type SpooledFile = {
  bytes: number
  /** Streams the file from its beginning. Can be called several times; returns null after `close`. */
  open(): Readable | null
  /** Frees the disk space once the last stream has ended. */
  close(): Promise<void>
}

/**
 * Writes all chunks to a temporary file, so that a failure can still be answered as an error before a byte is sent. The file is unlinked at
 * once, so that it is not left behind if the process dies.
 */
export const spool = async (chunks: AsyncIterable<Uint8Array>, {directory = tmpdir()}: {directory?: string} = {}): Promise<SpooledFile> => {
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

/** `file.createReadStream` is not used, because destroying one of its streams would close the file for the other readers. */
async function* readAll(file: FileHandle): AsyncGenerator<Buffer> {
  for (let at = 0; ; ) {
    const {bytesRead, buffer} = await file.read(Buffer.allocUnsafe(pieceBytes), 0, pieceBytes, at)
    if (bytesRead === 0) return
    at += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

/**
 * Deletes temporary files older than a day: those of `spool`, of `openUnlinkedFile` and of shared strings, which are all named alike. Returns
 * how many it deleted. A file remains if the process died before it unlinked the file, or if the system cannot unlink open files.
 */
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
