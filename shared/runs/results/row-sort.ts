import type {FileHandle} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {openUnlinkedFile} from '../../files/unlinked-file.ts'

type Options<T> = {
  compare(a: T, b: T): number
  sizeOf(item: T): number
  /** Once the items in memory reach this size (bytes by `sizeOf`), `add` writes them to disk. */
  chunkBytes?: number
  directory?: string
}

export type RowSort<T> = {
  add(items: readonly T[]): Promise<void>
  /** Yields all added items in order. After this call, no item can be added. */
  sorted(): AsyncGenerator<T[], void, undefined>
  close(): Promise<void>
}

type SortedRun = {at: number; bytes: number}

const usualChunk = 4 * 1024 ** 2
/** Bytes of memory for reading all sorted parts of the file during the merge. */
const mergeBytes = 1024 ** 2
const [smallestPiece, largestPiece] = [4 * 1024, 64 * 1024]
const itemsTogether = 500

/**
 * Sorts items by an external merge sort. Sorted parts are written as lines of JSON to an unnamed temporary file, and are merged when they
 * are read back. Items that fit into one chunk never reach the disk. Memory is limited to the chunk and the read buffers.
 */
export const openRowSort = <T>({compare, sizeOf, chunkBytes = usualChunk, directory = tmpdir()}: Options<T>): RowSort<T> => {
  const stretches: SortedRun[] = []
  let items: T[] = []
  let size = 0
  let end = 0
  let file: FileHandle | null = null

  const spill = async () => {
    file ??= await openUnlinkedFile(directory)
    const at = end
    items.sort(compare)
    for (let from = 0; from < items.length; from += itemsTogether) {
      const lines = Buffer.from(
        items
          .slice(from, from + itemsTogether)
          .map(item => `${JSON.stringify(item)}\n`)
          .join(''),
      )
      await file.write(lines, 0, lines.length, end)
      end += lines.length
    }
    stretches.push({at, bytes: end - at})
    items = []
    size = 0
  }

  return {
    async add(more) {
      for (const item of more) {
        items.push(item)
        size += sizeOf(item)
      }
      if (size >= chunkBytes) await spill()
    },
    async *sorted() {
      items.sort(compare)
      const pieceBytes = Math.max(smallestPiece, Math.min(largestPiece, Math.floor(mergeBytes / Math.max(1, stretches.length))))
      const sources = stretches.map(stretch => readSortedRun<T>(file!, stretch, pieceBytes))
      yield* merge([...sources, inMemory(items)], compare)
    },
    close: async () => void (await file?.close()),
  }
}

async function* inMemory<T>(items: T[]): AsyncGenerator<T[]> {
  for (let from = 0; from < items.length; from += itemsTogether) yield items.slice(from, from + itemsTogether)
}

const lineFeed = 10

/** Reads a sorted part of the file in pieces. An incomplete last line is kept for the next piece. */
async function* readSortedRun<T>(file: FileHandle, {at, bytes}: SortedRun, pieceBytes: number): AsyncGenerator<T[]> {
  let rest: Buffer = Buffer.alloc(0)
  for (let read = 0; read < bytes; ) {
    const length = Math.min(pieceBytes, bytes - read)
    const {bytesRead, buffer} = await file.read(Buffer.allocUnsafe(length), 0, length, at + read)
    if (bytesRead === 0) throw new Error('A file of sorted rows is shorter than what was written to it')
    read += bytesRead
    const piece = Buffer.concat([rest, buffer.subarray(0, bytesRead)])
    const whole = piece.lastIndexOf(lineFeed) + 1
    rest = piece.subarray(whole)
    const lines = piece.toString('utf8', 0, whole).split('\n')
    lines.pop()
    if (lines.length) yield lines.map(line => JSON.parse(line) as T)
  }
}

type MergeHead<T> = {items: T[]; at: number; source: AsyncGenerator<T[]>}

/** Each step compares the next items of all sources. This is fast, because there are few sources. */
async function* merge<T>(sources: AsyncGenerator<T[]>[], compare: (a: T, b: T) => number): AsyncGenerator<T[], void, undefined> {
  const heads: MergeHead<T>[] = []
  for (const source of sources) {
    const {value, done} = await source.next()
    if (!done) heads.push({items: value, at: 0, source})
  }
  let together: T[] = []
  while (heads.length) {
    let least = heads[0]!
    for (const head of heads) if (compare(head.items[head.at]!, least.items[least.at]!) < 0) least = head
    together.push(least.items[least.at++]!)
    if (least.at === least.items.length) {
      const {value, done} = await least.source.next()
      if (done) heads.splice(heads.indexOf(least), 1)
      else Object.assign(least, {items: value, at: 0})
    }
    if (together.length < itemsTogether) continue
    yield together
    together = []
  }
  if (together.length) yield together
}
