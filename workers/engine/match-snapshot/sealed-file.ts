import {createCipheriv, createDecipheriv, randomBytes} from 'node:crypto'
import type {FileHandle} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {openUnlinkedFile} from '../../../shared/files/unlinked-file.ts'
import type {StoredObject} from '../../../shared/files/xlsx/zip.ts'

const [cipherName, keyBytes, ivBytes, tagBytes] = ['aes-256-gcm', 32, 12, 16] as const

export const makeFileKey = (): string => randomBytes(keyBytes).toString('base64url')

/** Encrypts a stream to: iv, ciphertext, tag. */
export async function* sealStream(bytes: AsyncIterable<Uint8Array>, key: string): AsyncGenerator<Uint8Array> {
  const iv = randomBytes(ivBytes)
  const cipher = createCipheriv(cipherName, Buffer.from(key, 'base64url'), iv)
  yield iv
  for await (const chunk of bytes) yield cipher.update(chunk)
  yield cipher.final()
  yield cipher.getAuthTag()
}

/** A decrypted file on the local disk. It has no name, so that the system frees it even if the process dies. */
export type OpenedFile = {object: StoredObject; close(): Promise<void>}

/** Decrypts a sealed stream into a file. Throws if a byte was changed. */
export const openSealedStream = async (sealed: AsyncIterable<Uint8Array>, key: string): Promise<OpenedFile> => {
  const file = await openUnlinkedFile(tmpdir())
  try {
    await decryptTo(file, sealed, Buffer.from(key, 'base64url'))
    const {size} = await file.stat()
    const storage = {
      size: async () => size,
      readRange: async (_: string, {start, end}: {start: number; end: number}) =>
        file.createReadStream({start, end: end - 1, autoClose: false}),
    }
    return {object: {storage, key: 'export.zip'}, close: () => file.close()}
  } catch (error) {
    await file.close()
    throw error
  }
}

const decryptTo = async (file: FileHandle, sealed: AsyncIterable<Uint8Array>, key: Buffer) => {
  let held = Buffer.alloc(0)
  let decipher: ReturnType<typeof createDecipheriv> | null = null
  for await (const chunk of sealed) {
    held = Buffer.concat([held, chunk])
    if (!decipher && held.length >= ivBytes) {
      decipher = createDecipheriv(cipherName, key, held.subarray(0, ivBytes), {authTagLength: tagBytes})
      held = held.subarray(ivBytes)
    }
    // The last bytes of the file are the tag, so they are held back.
    if (!decipher || held.length <= tagBytes) continue
    await file.appendFile(decipher.update(held.subarray(0, -tagBytes)))
    held = held.subarray(-tagBytes)
  }
  if (!decipher || held.length !== tagBytes) throw new Error('The sealed file is cut')
  ;(decipher as import('node:crypto').DecipherGCM).setAuthTag(held)
  await file.appendFile(decipher.final())
}
