import type {FileHandle} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {openNameless} from './nameless-file.ts'

type Options<T> = {
  compare(a: T, b: T): number
  /** What an item takes of memory, roughly, in bytes. */
  sizeOf(item: T): number
  /** Items held in memory before they go to disk. */
  chunkBytes?: number
  directory?: string
}

export type Sorting<T> = {
  add(items: readonly T[]): Promise<void>
  /** All that was added, in order; ends the adding. */
  sorted(): AsyncGenerator<T[], void, undefined>
  close(): Promise<void>
}

type Stretch = {at: number; bytes: number}

const usualChunk = 4 * 1024 ** 2
/** For the pieces read of all stretches together as they are merged. */
const mergeBytes = 1024 ** 2
const [smallestPiece, largestPiece] = [4 * 1024, 64 * 1024]
const itemsTogether = 500

/**
 * Sorts more items than fit into memory: stretches of them, each sorted, go to a file without a name that ends with the process, as lines of
 * JSON, and are merged as they are read back. Few items never see the disk. Memory is the chunk and the pieces, whatever the number of items.
 */
export const openSorting = <T>({compare, sizeOf, chunkBytes = usualChunk, directory = tmpdir()}: Options<T>): Sorting<T> => {
  const stretches: Stretch[] = []
  let items: T[] = []
  let size = 0
  let end = 0
  let file: FileHandle | null = null

  const spill = async () => {
    file ??= await openNameless(directory)
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
      const sources = stretches.map(stretch => readStretch<T>(file!, stretch, pieceBytes))
      yield* merge([...sources, inMemory(items)], compare)
    },
    close: async () => void (await file?.close()),
  }
}

async function* inMemory<T>(items: T[]): AsyncGenerator<T[]> {
  for (let from = 0; from < items.length; from += itemsTogether) yield items.slice(from, from + itemsTogether)
}

const lineFeed = 10

/** Piece by piece; a line that does not end in one is kept for the next. */
async function* readStretch<T>(file: FileHandle, {at, bytes}: Stretch, pieceBytes: number): AsyncGenerator<T[]> {
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

type Head<T> = {items: T[]; at: number; source: AsyncGenerator<T[]>}

/** Stretches are few: the least of their heads is looked for among all of them. */
async function* merge<T>(sources: AsyncGenerator<T[]>[], compare: (a: T, b: T) => number): AsyncGenerator<T[], void, undefined> {
  const heads: Head<T>[] = []
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
