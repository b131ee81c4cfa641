import {isAscii, isUtf8} from 'node:buffer'
import {countBeyondAscii, cutLength, scanUtf8} from './utf8-scan.ts'

/**
 * `valid`: number of UTF-8 characters beyond ASCII. `invalid`: number of places that are not UTF-8. `cutBytes`: number of bytes of an incomplete
 * character at the end. `excerpts`: pieces of at most 120 bytes that contain bytes beyond ASCII, each from the start of a cell or word. Pieces that
 * are not UTF-8 come first.
 */
export type Survey = {valid: number; invalid: number; cutBytes: number; excerpts: Buffer[]}

const mostInvalidBytes = 32_768
const mostValid = 5
const longestExcerpt = 120
/** Maximum attempts to find an excerpt, and maximum valid excerpts found, repeated ones included. They limit the work on repetitive files. */
const [mostLooks, mostValidLooks] = [100_000, 1_000]
/** Maximum bytes of an unfinished cell that are kept for the next chunk. A longer cell is skipped. */
const longestCell = 1_024

export const openSurvey = () => {
  const counts = {valid: 0, invalid: 0}
  const excerpts = openExcerpts()
  let rest: Buffer = Buffer.alloc(0)
  const add = (chunk: Uint8Array) => {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    if (!rest.length && isAscii(bytes)) return excerpts.add(bytes)
    const all = rest.length ? Buffer.concat([rest, bytes]) : bytes
    const whole = all.subarray(0, all.length - cutLength(all))
    if (isUtf8(whole)) counts.valid += countBeyondAscii(whole)
    else counts.valid += scanUtf8(whole, () => counts.invalid++).characters
    excerpts.add(whole)
    rest = Buffer.from(all.subarray(whole.length))
  }
  const end = (): Survey => ({...counts, cutBytes: rest.length, excerpts: excerpts.end(rest)})
  return {add, end}
}

const openExcerpts = () => {
  const [valid, invalid] = [new Map<string, Buffer>(), new Map<string, Buffer>()]
  let [invalidBytes, looks, validLooks] = [0, 0, 0]
  const isFull = () => invalidBytes >= mostInvalidBytes || looks >= mostLooks
  const hasValid = () => valid.size === mostValid || validLooks >= mostValidLooks
  /** The unfinished cell, and whether its beginning is known. A cell whose beginning was dropped is skipped. */
  let [pending, isWhole]: [Buffer, boolean] = [Buffer.alloc(0), true]
  const keep = (excerpt: Buffer) => {
    const key = excerpt.toString('latin1')
    if (isUtf8(excerpt)) {
      validLooks++
      if (valid.size < mostValid) valid.set(key, Buffer.from(excerpt))
    } else if (!invalid.has(key)) {
      invalid.set(key, Buffer.from(excerpt))
      invalidBytes += excerpt.length
    }
  }
  const gather = (cells: Buffer) => {
    if (isFull() || isAscii(cells) || (hasValid() && isUtf8(cells))) return
    for (let at = 0; at < cells.length && !isFull(); at++) {
      if (cells[at]! < 0x80) continue
      looks++
      const excerpt = excerptAround(cells, at)
      if (excerpt) keep(excerpt)
      at = Math.max(at, excerpt ? excerpt.byteOffset - cells.byteOffset + excerpt.length : at)
    }
  }
  const add = (bytes: Buffer) => {
    const all = pending.length ? Buffer.concat([pending, bytes]) : bytes
    const end = all.findLastIndex(endsCell) + 1
    const start = isWhole ? 0 : all.findIndex(endsCell) + 1
    if (end > start) gather(all.subarray(start, end))
    if (end > 0) isWhole = true
    if (all.length - end > longestCell) isWhole = false
    pending = isWhole ? Buffer.from(all.subarray(end)) : Buffer.alloc(0)
  }
  const end = (rest: Buffer) => {
    if (isWhole) gather(Buffer.concat([pending, rest]))
    return [...invalid.values(), ...valid.values()]
  }
  return {add, end}
}

/** Whether a byte ends a cell: line ends, tabs, quotes, commas and semicolons. No candidate encoding has these bytes inside a character. */
const endsCell = (byte: number) => byte === 10 || byte === 13 || byte === 9 || byte === 34 || byte === 44 || byte === 59

/** Returns at most 120 bytes around a byte, from the start of its cell or of a word. Returns null if neither start is near the byte. */
const excerptAround = (cells: Buffer, at: number): Buffer | null => {
  let start = at
  while (start > 0 && at - start < longestExcerpt && !endsCell(cells[start - 1]!)) start--
  if (at - start > longestExcerpt / 2) {
    const word = cells.subarray(at - longestExcerpt / 2, at).findLastIndex(byte => byte < 0x30)
    if (word < 0) return null
    start = at - longestExcerpt / 2 + word + 1
  }
  let end = at
  while (end < cells.length && end - start < longestExcerpt && !endsCell(cells[end]!)) end++
  return cells.subarray(start, end)
}
