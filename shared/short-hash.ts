import {hash} from 'node:crypto'

/** The first 16 bytes of a text's SHA-256. By way of its digits: a Buffer of OpenSSL's own making costs more than the hash. */
export const shortHash = (text: string): Buffer => Buffer.from(hash('sha256', text, 'hex').slice(0, 32), 'hex')
