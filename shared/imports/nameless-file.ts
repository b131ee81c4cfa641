import {randomUUID} from 'node:crypto'
import {type FileHandle, open, rm} from 'node:fs/promises'
import {join} from 'node:path'

/** A file that goes with its handle: whatever becomes of this process, nothing is left behind. */
export const openNameless = async (directory: string): Promise<FileHandle> => {
  const path = join(directory, `lading-${randomUUID()}`)
  const file = await open(path, 'wx+', 0o600)
  await rm(path)
  return file
}
