import {randomUUID} from 'node:crypto'
import {closeSync, openSync, readSync, unlinkSync, writeSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {Refusal} from '../../errors.ts'
import {maxRowCharacters} from '../row.ts'
import {openRichText} from './rich-text.ts'
import {openXml} from './xml.ts'
import {corrupt, type Zip} from './zip.ts'

const slabBytes = 64 * 1024
/** Maximum bytes of slabs that are cached after reading them from the temporary file. The slab read first is dropped first. */
const keptBytes = 4 * 1024 ** 2
/** The positions of only every 16th string are stored. The other strings are found by the lengths of the strings before them. */
const stride = 16
/** Maximum number of shared strings: 1,048,576 rows with 20 distinct strings each. */
const mostStrings = 21_000_000

export type SharedStrings = {at(index: number): string; spilled: boolean; close(): void}

const none: SharedStrings = {
  at: index => {
    throw corrupt(`a cell names shared string ${index} and there are none`)
  },
  spilled: false,
  close() {},
}

/**
 * Keeps the string table in memory up to `limit` bytes, beyond that in a temporary file. Each use of a string counts towards the workbook's unpack
 * limit, because many cells may refer to one long string.
 */
export const readSharedStrings = async (zip: Zip, path: string | null, limit: number): Promise<SharedStrings> => {
  if (!path) return none
  const slabs = openSlabs(limit, zip.count)
  /** Two numbers per stored position: slab and start. */
  const places: number[] = []
  let count = 0
  const add = (text: string) => {
    if (text.length > maxRowCharacters) throw tooLong()
    if (count === mostStrings) throw corrupt(`it has more than ${mostStrings} shared strings`)
    const place = slabs.add(text)
    if (count++ % stride === 0) places.push(place.slab, place.start)
  }
  try {
    const xml = openXml(path, listItems(add))
    for await (const piece of zip.open(path)) xml.write(piece)
    xml.end()
  } catch (error) {
    slabs.close()
    throw error
  }
  const at = (index: number) => {
    if (!(Number.isInteger(index) && index >= 0 && index < count)) throw corrupt(`a cell names shared string ${index}, which is not there`)
    const known = 2 * Math.floor(index / stride)
    return slabs.read({slab: places[known]!, start: places[known + 1]!}, index % stride)
  }
  return {at, spilled: slabs.spilled(), close: slabs.close}
}

const tooLong = () =>
  new Refusal('UNREADABLE', `A cell has more than ${maxRowCharacters.toLocaleString('en')} characters. Shorten it`, {
    limit: maxRowCharacters,
  })

const listItems = (add: (text: string) => void) => {
  const text = openRichText()
  return {
    open(name: string) {
      if (name === 'si') text.begin()
      else text.open(name, {})
    },
    close(name: string) {
      if (name === 'si') add(text.end())
      else text.close(name)
    },
    text: text.text,
  }
}

type StringPlace = {slab: number; start: number}
type Slab = {bytes: Buffer | null; used: number; at: number}

/**
 * Stores strings one after another in slabs, each with a length prefix of four bytes; no string spans two slabs. Beyond the limit, slabs go to a
 * temporary file with synchronous I/O, which is fast because the file is local and recent. The file is unlinked immediately, so that a process
 * that dies leaves no file.
 */
const openSlabs = (limit: number, count: Zip['count']) => {
  const slabs: Slab[] = []
  const kept = openStoredSlabs()
  let [total, spilled, fileBytes] = [0, 0, 0]
  let file: number | null = null
  const spill = () => {
    file ??= openUnlinkedSlabs()
    for (; spilled < slabs.length; spilled++) {
      const slab = slabs[spilled]!
      slab.at = fileBytes
      for (let from = 0; from < slab.used; ) from += writeSync(file, slab.bytes!, from, slab.used - from)
      fileBytes += slab.used
      slab.bytes = null
    }
  }
  const roomFor = (bytes: number): Slab & {bytes: Buffer} => {
    const last = slabs.at(-1)
    if (last?.bytes && last.bytes.length - last.used >= bytes) return last as Slab & {bytes: Buffer}
    if (total > limit) spill()
    const made = {bytes: Buffer.allocUnsafeSlow(Math.max(slabBytes, bytes)), used: 0, at: 0}
    slabs.push(made)
    return made
  }
  const bytesOf = (index: number) => {
    const {bytes, at, used} = slabs[index]!
    return bytes ?? kept.get(index) ?? kept.put(index, readPart(file!, at, used))
  }
  return {
    add(text: string): StringPlace {
      // A UTF-16 unit takes at most three bytes of UTF-8.
      const slab = roomFor(4 + 3 * text.length)
      const start = slab.used
      const length = slab.bytes.write(text, start + 4)
      slab.bytes.writeUInt32LE(length, start)
      slab.used += 4 + length
      total += 4 + length
      return {slab: slabs.length - 1, start}
    },
    /** Reads the string that comes `after` strings later than the string at the given position. */
    read({slab, start}: StringPlace, after: number): string {
      for (let left = after; ; left--) {
        if (start >= slabs[slab]!.used) [slab, start] = [slab + 1, 0]
        const bytes = bytesOf(slab)
        const length = bytes.readUInt32LE(start)
        if (left === 0) {
          count(length)
          return bytes.toString('utf8', start + 4, start + 4 + length)
        }
        start += 4 + length
      }
    },
    spilled: () => file !== null,
    close() {
      if (file !== null) closeSync(file)
      file = null
      slabs.length = 0
    },
  }
}

const openStoredSlabs = () => {
  const kept = new Map<number, Buffer>()
  let total = 0
  return {
    get: (index: number) => kept.get(index),
    put(index: number, bytes: Buffer) {
      kept.set(index, bytes)
      total += bytes.length
      for (const [oldest, {length}] of kept) {
        if (total <= keptBytes || oldest === index) break
        kept.delete(oldest)
        total -= length
      }
      return bytes
    },
  }
}

const openUnlinkedSlabs = () => {
  const path = join(tmpdir(), `lading-${randomUUID()}`)
  const file = openSync(path, 'wx+', 0o600)
  unlinkSync(path)
  return file
}

const readPart = (file: number, start: number, length: number) => {
  const part = Buffer.allocUnsafeSlow(length)
  for (let from = 0; from < length; ) {
    const read = readSync(file, part, from, length - from, start + from)
    if (read === 0) throw new Error('The temporary file of shared strings ends early')
    from += read
  }
  return part
}
