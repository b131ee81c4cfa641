import {hash} from 'node:crypto'

/**
 * Returns the first 16 bytes of a text's SHA-256. The hash is first written as hex, because a Buffer created by OpenSSL costs more than the
 * hash.
 */
export const shortHash = (text: string): Buffer => Buffer.from(hash('sha256', text, 'hex').slice(0, 32), 'hex')
