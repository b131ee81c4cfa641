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
const cachedCharacters = 4 * 1024 ** 2

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
    if (block.length) blocks.add(Buffer.from(JSON.stringify(block)))
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

/** Strings asked for one after another mostly lie in one block; the blocks used last are kept as strings. */
const openLookup = (blocks: Blocks): SharedStrings => {
  const cache = new Map<number, {strings: string[]; size: number}>()
  let size = 0
  const load = (block: number) => {
    const bytes = blocks.read(block)
    const loaded = {strings: JSON.parse(bytes.toString()) as string[], size: bytes.length + 200}
    cache.set(block, loaded)
    size += loaded.size
    for (const [oldest, {size: freed}] of cache) {
      if (size <= cachedCharacters || oldest === block) break
      cache.delete(oldest)
      size -= freed
    }
    return loaded.strings
  }
  const at = (index: number) => {
    const block = Math.floor(index / perBlock)
    const text = Number.isInteger(index) && index >= 0 && block < blocks.count() ? (cache.get(block)?.strings ?? load(block))[index % perBlock] : undefined
    if (text === undefined) throw corrupt(`a cell names shared string ${index}, which is not there`)
    return text
  }
  return {at, spilled: blocks.spilled(), close: blocks.close}
}

type Blocks = ReturnType<typeof openBlocks>

/**
 * Read and written synchronously: a block is a few hundred bytes of a local file just written. The file has no name from its first moment
 * on, so a process that dies leaves nothing.
 */
const openBlocks = (limit: number) => {
  let held: Buffer[] | null = []
  let file: number | null = null
  const ends: number[] = []
  let bytes = 0
  const write = (block: Buffer) => {
    for (let from = 0; from < block.length; ) from += writeSync(file!, block, from)
  }
  const spill = () => {
    const path = join(tmpdir(), `lading-${randomUUID()}`)
    file = openSync(path, 'wx+', 0o600)
    unlinkSync(path)
    for (const block of held!) write(block)
    held = null
  }
  return {
    add(block: Buffer) {
      bytes += block.length
      ends.push(bytes)
      if (held) held.push(block)
      else write(block)
      if (held && bytes > limit) spill()
    },
    read(index: number): Buffer {
      if (held) return held[index]!
      const start = index ? ends[index - 1]! : 0
      const block = Buffer.allocUnsafe(ends[index]! - start)
      for (let from = 0; from < block.length; ) {
        const read = readSync(file!, block, from, block.length - from, start + from)
        if (read === 0) throw new Error('The temporary file of shared strings ends early')
        from += read
      }
      return block
    },
    count: () => ends.length,
    spilled: () => held === null,
    close() {
      if (file !== null) closeSync(file)
      file = null
      held = []
    },
  }
}
