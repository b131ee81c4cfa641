import {createHmac, timingSafeEqual} from 'node:crypto'
import {Refusal} from '../errors.ts'
import type {KeyRing} from './secrets.ts'

/** Encodes a position in a list as a cursor. The cursor is valid only for the list named by `of`. */
export const writeCursor = (ring: KeyRing, of: string, place: string | number): string => {
  const body = Buffer.from(JSON.stringify(place)).toString('base64url')
  return `${body}.${sign(ring[0]!, of, body)}`
}

/**
 * Returns the position that a cursor encodes; null without a cursor. Throws INVALID_CURSOR for a cursor of another list or with a wrong
 * signature.
 */
export const readCursor = (ring: KeyRing, of: string, cursor: string | undefined): string | number | null => {
  if (cursor === undefined) return null
  const [body = '', signature = ''] = cursor.split('.')
  const given = Buffer.from(signature)
  const known = ring.some(key => {
    const expected = Buffer.from(sign(key, of, body))
    return expected.length === given.length && timingSafeEqual(expected, given)
  })
  if (!known) throw new Refusal('INVALID_CURSOR', 'This cursor does not belong to this list. Start again without a cursor')
  return JSON.parse(Buffer.from(body, 'base64url').toString())
}

type PageQuery = {limit: number; cursor?: string | undefined}
type PageResult<Row, Place> = {
  /** Converts a decoded position to its type: `String` or `Number`. */
  as(place: string | number): Place
  /** Reads the rows after `place`, or from the start if `place` is null. */
  read(asked: {place: Place | null; limit: number}): Promise<readonly Row[]>
  placeOf(row: Row): Place
}

/** Returns a page of the list named by `of`, and the cursor of the next page if there is one. Throws INVALID_CURSOR. */
export const readPage = async <Row, Place extends string | number>(
  ring: KeyRing,
  of: string,
  {limit, cursor}: PageQuery,
  {as, read, placeOf}: PageResult<Row, Place>,
): Promise<{page: Row[]; nextCursor: string | null}> => {
  const place = readCursor(ring, of, cursor)
  const found = await read({place: place === null ? null : as(place), limit: limit + 1})
  const page = found.slice(0, limit)
  return {page, nextCursor: found.length > limit ? writeCursor(ring, of, placeOf(page.at(-1)!)) : null}
}

const sign = ({key}: KeyRing[number], of: string, body: string) =>
  createHmac('sha256', key).update(`${of}\n${body}`).digest('base64url').slice(0, 22)
