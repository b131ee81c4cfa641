import {randomUUID} from 'node:crypto'
import {type FileHandle, open, rm} from 'node:fs/promises'
import {join} from 'node:path'

/** Opens a temporary file and unlinks it immediately, so that the system frees the space when the handle closes or the process dies. */
export const openUnlinkedFile = async (directory: string): Promise<FileHandle> => {
  const path = join(directory, `lading-${randomUUID()}`)
  const file = await open(path, 'wx+', 0o600)
  await rm(path)
  return file
}
