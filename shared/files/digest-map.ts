import {hash} from 'node:crypto'

const words = 4
/**
 * The maximum number of keys; callers check `isFull`. The table then takes at most 84 MB (2^22 entries of 20 bytes), and another 42 MB while it grows
 * for the last time.
 */
const mostKeys = 2_000_000

/**
 * A hash table of 128-bit key digests, with the first row of each key. In a full map, any two keys collide with a probability of about 10^-26.
 */
export const openDigestMap = () => {
  let places = 1024
  let [digests, rows] = [new Uint32Array(places * words), new Uint32Array(places)]
  let count = 0

  /** Returns the earlier row with this key. For a new key, stores `row` and returns undefined. */
  const seen = (key: string, row: number): number | undefined => {
    const digest = hash('sha1', key, 'buffer')
    const wanted = [digest.readUInt32LE(0), digest.readUInt32LE(4), digest.readUInt32LE(8), digest.readUInt32LE(12)] as const
    const place = find(wanted)
    if (rows[place]) return rows[place]
    put(place, wanted, row)
    if (++count * 2 > places) grow()
    return
  }

  const find = ([a, b, c, d]: Digest) => {
    let place = a & (places - 1)
    // The search ends, because at least half of the entries are free.
    for (; rows[place]; place = (place + 1) & (places - 1)) {
      const at = place * words
      if (digests[at] === a && digests[at + 1] === b && digests[at + 2] === c && digests[at + 3] === d) break
    }
    return place
  }

  const put = (place: number, digest: Digest, row: number) => {
    digests.set(digest, place * words)
    rows[place] = row
  }

  const grow = () => {
    const [oldDigests, oldRows] = [digests, rows]
    places *= 2
    ;[digests, rows] = [new Uint32Array(places * words), new Uint32Array(places)]
    for (const [place, row] of oldRows.entries()) {
      if (!row) continue
      const digest = [...oldDigests.subarray(place * words, place * words + words)] as unknown as Digest
      put(find(digest), digest, row)
    }
  }

  return {seen, isFull: () => count >= mostKeys, limit: mostKeys}
}

type Digest = readonly [number, number, number, number]
