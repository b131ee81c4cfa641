import {createHmac, timingSafeEqual} from 'node:crypto'
import {Refusal} from './errors.ts'
import type {KeyRing} from './secrets.ts'

/** An opaque place in a list, good for the list named by `of` and nothing else. */
export const writeCursor = (ring: KeyRing, of: string, place: string | number): string => {
  const body = Buffer.from(JSON.stringify(place)).toString('base64url')
  return `${body}.${sign(ring[0]!, of, body)}`
}

/** The place; null when no cursor was given. Throws INVALID_CURSOR for a cursor of another list, or one we never wrote. */
export const readCursor = (ring: KeyRing, of: string, cursor: string | undefined): string | number | null => {
  if (cursor === undefined) return null
  const [body = '', signature = ''] = cursor.split('.')
  const given = Buffer.from(signature)
  const known = ring.some(key => {
    const expected = Buffer.from(sign(key, of, body))
    return expected.length === given.length && timingSafeEqual(expected, given)
  })
  if (!known) throw new Refusal('INVALID_CURSOR', 'This cursor is not one of this list: begin again without a cursor')
  return JSON.parse(Buffer.from(body, 'base64url').toString())
}

const sign = ({key}: KeyRing[number], of: string, body: string) =>
  createHmac('sha256', key).update(`${of}\n${body}`).digest('base64url').slice(0, 22)
