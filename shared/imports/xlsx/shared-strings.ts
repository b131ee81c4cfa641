import {randomUUID} from 'node:crypto'
import {closeSync, openSync, readSync, unlinkSync, writeSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {Refusal} from '../../errors.ts'
import {maxRowCharacters} from '../row.ts'
import {openRichText} from './rich-text.ts'
import {openXml} from './xml.ts'
import {corrupt, type Zip} from './zip.ts'

const perBlock = 16
const slabBytes = 1024 ** 2
/** Blocks met once are soon forgotten, so that a table read from end to end is not kept; those met again are kept up to this many bytes. */
const recentBlocks = 32
const keptBytes = 4 * 1024 ** 2

export type SharedStrings = {at(index: number): string; spilled: boolean; close(): void}

const none: SharedStrings = {
  at: index => {
    throw corrupt(`a cell names shared string ${index} and there are none`)
  },
  spilled: false,
  close() {},
}

/** The workbook's table of strings: in memory as bytes up to `limit`, past that all of it in a temporary file. */
export const readSharedStrings = async (zip: Zip, path: string | null, limit: number): Promise<SharedStrings> => {
  if (!path) return none
  const blocks = openBlocks(limit)
  try {
    const add = openAdding(blocks)
    const xml = openXml(path, listItems(add.one))
    for await (const piece of zip.open(path)) xml.write(piece)
    xml.end()
    add.end()
  } catch (error) {
    blocks.close()
    throw error
  }
  return openLookup(blocks)
}

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

const openAdding = (blocks: Blocks) => {
  let block: string[] = []
  const flush = () => {
    if (block.length) blocks.add(JSON.stringify(block))
    block = []
  }
  return {
    one(text: string) {
      if (text.length > maxRowCharacters)
        throw new Refusal('UNREADABLE', `A cell has more than ${maxRowCharacters.toLocaleString('en')} characters. Shorten it`, {
          limit: maxRowCharacters,
        })
      if (block.push(text) === perBlock) flush()
    },
    end: flush,
  }
}

const openLookup = (blocks: Blocks): SharedStrings => {
  const met = new Uint8Array(blocks.count())
  const recent = openShelf(recentBlocks)
  const kept = openShelf(keptBytes)
  const load = (block: number) => {
    const text = blocks.read(block)
    const strings = JSON.parse(text) as string[]
    if (met[block]) kept.put(block, strings, text.length + 50 * perBlock)
    else recent.put(block, strings, 1)
    met[block] = 1
    return strings
  }
  const at = (index: number) => {
    const block = Math.floor(index / perBlock)
    const isThere = Number.isInteger(index) && index >= 0 && block < met.length
    const text = isThere ? (recent.get(block) ?? kept.get(block) ?? load(block))[index % perBlock] : undefined
    if (text === undefined) throw corrupt(`a cell names shared string ${index}, which is not there`)
    return text
  }
  return {at, spilled: blocks.spilled(), close: blocks.close}
}

/** What was put last, up to a size; the oldest goes first. */
const openShelf = (limit: number) => {
  const entries = new Map<number, {strings: string[]; size: number}>()
  let total = 0
  return {
    get: (block: number) => entries.get(block)?.strings,
    put(block: number, strings: string[], size: number) {
      entries.set(block, {strings, size})
      total += size
      for (const [oldest, {size: freed}] of entries) {
        if (total <= limit || oldest === block) return
        entries.delete(oldest)
        total -= freed
      }
    },
  }
}

type Blocks = ReturnType<typeof openBlocks>

type Slab = {bytes: Buffer | null; used: number; at: number}

/**
 * Blocks of text in slabs of 1 MiB. Past the limit slabs go to a file when they are full: written and read synchronously, as it is local and
 * just written. The file has no name from its first moment on, so a process that dies leaves nothing.
 */
const openBlocks = (limit: number) => {
  const slabs: Slab[] = []
  /** By threes: slab, start, length. */
  const places: number[] = []
  let [total, spilled, fileBytes] = [0, 0, 0]
  let file: number | null = null
  const spill = () => {
    file ??= openNameless()
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
    const usual = Math.max(4096, Math.min(slabBytes, Math.floor(limit / 8)))
    const made = {bytes: Buffer.allocUnsafeSlow(Math.max(usual, bytes)), used: 0, at: 0}
    slabs.push(made)
    return made
  }
  return {
    add(text: string) {
      // A UTF-16 unit takes at most three bytes of UTF-8.
      const slab = roomFor(3 * text.length)
      const length = slab.bytes.write(text, slab.used)
      places.push(slabs.length - 1, slab.used, length)
      slab.used += length
      total += length
    },
    read(block: number): string {
      const [of, start, length] = [places[3 * block]!, places[3 * block + 1]!, places[3 * block + 2]!]
      const {bytes, at} = slabs[of]!
      return bytes ? bytes.toString('utf8', start, start + length) : readPart(file!, at + start, length)
    },
    count: () => places.length / 3,
    spilled: () => file !== null,
    close() {
      if (file !== null) closeSync(file)
      file = null
      slabs.length = 0
    },
  }
}

const openNameless = () => {
  const path = join(tmpdir(), `lading-${randomUUID()}`)
  const file = openSync(path, 'wx+', 0o600)
  unlinkSync(path)
  return file
}

const readPart = (file: number, start: number, length: number) => {
  const part = Buffer.allocUnsafe(length)
  for (let from = 0; from < length; ) {
    const read = readSync(file, part, from, length - from, start + from)
    if (read === 0) throw new Error('The temporary file of shared strings ends early')
    from += read
  }
  return part.toString()
}
