import {hash} from 'node:crypto'
import type {FileHandle} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {openUnlinkedFile} from './unlinked-file.ts'

/** Only keys of the same `group` are compared. `slot`: the number of the object that the key belongs to, such as a match. */
type Key = {group: number; slot: number; row: number; digest: Buffer; identity: Buffer}
/** `isSame`: the `identity` of the two keys is equal, so both rows belong to one record. */
export type Repeat = {row: number; slot: number; earlier: {row: number; slot: number}; isSame: boolean}

const words = 10
const keyBytes = words * 4
/** The intended number of keys in one part. The distinct keys of one part are in memory together and take up to 10 MB. */
const keysTogether = 100_000
const [fewestBuffered, mostBuffered] = [100, 6_000]
/** The bytes of all buffers together. Keys stay in a buffer until they are written to disk. */
const bufferedBytes = 8 * 1024 ** 2
/** The maximum number of keys, which take 2 GB of temporary disk. */
const mostKeys = 50_000_000

type KeyBuffer = {buffer: Uint32Array; used: number; extents: {at: number; bytes: number}[]}

/**
 * Finds keys that occur twice; the result is exact except for collisions of 128-bit digests. Keys are partitioned by digest and written to an unnamed
 * temporary file, and `find` reads one part after another. Memory stays below 20 MB if `expected` is at least the number of keys. `left` counts the
 * keys beyond the limit, which are not compared.
 */
export const openRepeats = (expected: number, {limit = mostKeys, directory = tmpdir()} = {}) => {
  const count = Math.max(1, Math.ceil(Math.min(expected, limit) / keysTogether))
  const size = Math.min(mostBuffered, Math.max(fewestBuffered, Math.floor(bufferedBytes / count / keyBytes)))
  const parts = Array.from({length: count}, (): KeyBuffer => ({buffer: new Uint32Array(size * words), used: 0, extents: []}))
  const full: KeyBuffer[] = []
  let file: FileHandle | null = null
  let [added, left, bytes] = [0, 0, 0]

  const add = (key: Key): void => {
    if (added >= limit) return void left++
    added++
    const part = parts[key.digest.readUInt32LE(0) % count]!
    if (part.used === part.buffer.length) {
      const grown = new Uint32Array(part.buffer.length * 2)
      grown.set(part.buffer)
      part.buffer = grown
    }
    part.buffer.set(encodeKey(key), part.used)
    part.used += words
    if (part.used >= size * words && full.at(-1) !== part) full.push(part)
  }

  /** Writes full buffers to disk. Await this between chunks of rows. */
  const spill = async () => {
    for (const part of full.splice(0)) {
      if (part.used === 0) continue
      file ??= await openUnlinkedFile(directory)
      const piece = Buffer.from(part.buffer.buffer, 0, part.used * 4)
      await file.write(piece, 0, piece.length, bytes)
      part.extents.push({at: bytes, bytes: piece.length})
      bytes += piece.length
      if (part.buffer.length > size * words) part.buffer = new Uint32Array(size * words)
      part.used = 0
    }
  }

  async function* find(): AsyncGenerator<Repeat> {
    const firsts = openFirsts()
    let piece = new Uint32Array(mostBuffered * words)
    for (const part of parts) {
      for (const {at, bytes: length} of part.extents) {
        if (length > piece.byteLength) piece = new Uint32Array(length / 4)
        await file!.read(new Uint8Array(piece.buffer), 0, length, at)
        yield* comparePair(piece.subarray(0, length / 4), firsts)
      }
      yield* comparePair(part.buffer.subarray(0, part.used), firsts)
      firsts.clear()
    }
  }

  return {add, spill, find, left: () => left, close: async () => file?.close()}
}
const encodeKey = ({group, slot, row, digest, identity}: Key): number[] => [
  digest.readUInt32LE(0),
  digest.readUInt32LE(4),
  digest.readUInt32LE(8),
  digest.readUInt32LE(12),
  identity.readUInt32LE(0),
  identity.readUInt32LE(4),
  Math.floor(row / 2 ** 32),
  row >>> 0,
  group,
  slot,
]

export type Repeats = ReturnType<typeof openRepeats>

/** A hash table by digest with the first occurrence of each key of one part. Keys are not objects, because a part has a hundred thousand keys. */
const openFirsts = () => {
  let places = new Uint32Array(1024)
  let [kept, count] = [new Uint32Array(words * 512), 0]

  /** Returns the position in `kept` of the key's first occurrence. If the key is new, stores the key and returns -1. */
  const seen = (piece: Uint32Array, at: number): number => {
    const place = find(piece, at)
    if (places[place]) return (places[place] - 1) * words
    if (2 * (count + 1) > places.length) grow()
    kept.set(piece.subarray(at, at + words), count * words)
    places[find(piece, at)] = ++count
    return -1
  }

  const find = (piece: Uint32Array, at: number) => {
    // The first words of the digests in a part share a remainder, so the second word is used.
    let place = piece[at + 1]! & (places.length - 1)
    // At least half of the places are free, so the loop ends.
    for (; places[place]; place = (place + 1) & (places.length - 1)) if (isLike(kept, (places[place]! - 1) * words, piece, at)) break
    return place
  }

  const grow = () => {
    const larger = new Uint32Array(kept.length * 2)
    larger.set(kept)
    kept = larger
    places = new Uint32Array(places.length * 2)
    for (let n = 0; n < count; n++) places[find(kept, n * words)] = n + 1
  }

  const clear = () => {
    places.fill(0)
    count = 0
  }

  return {seen, clear, kept: () => kept}
}
type Firsts = ReturnType<typeof openFirsts>

const isLike = (a: Uint32Array, at: number, b: Uint32Array, on: number) =>
  a[at] === b[on] && a[at + 1] === b[on + 1] && a[at + 2] === b[on + 2] && a[at + 3] === b[on + 3] && a[at + 8] === b[on + 8]

function* comparePair(piece: Uint32Array, firsts: Firsts): Generator<Repeat> {
  for (let at = 0; at < piece.length; at += words) {
    const first = firsts.seen(piece, at)
    if (first < 0) continue
    const kept = firsts.kept()
    const isSame = kept[first + 4] === piece[at + 4] && kept[first + 5] === piece[at + 5]
    yield {row: rowAt(piece, at), slot: piece[at + 9]!, earlier: {row: rowAt(kept, first), slot: kept[first + 9]!}, isSame}
  }
}

const rowAt = (keys: Uint32Array, at: number) => keys[at + 6]! * 2 ** 32 + keys[at + 7]!

/** The shared buffer of `digestOfText`. A million separate buffers would be freed late. */
const digest = Buffer.alloc(20)

/** Returns the digest of a text in a shared buffer, which is valid until the next call. */
export const digestOfText = (text: string): Buffer => {
  digest.write(hash('sha1', text, 'binary'), 'latin1')
  return digest
}
