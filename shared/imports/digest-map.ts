import {hash} from 'node:crypto'

const words = 4
/** 20 bytes a place, two places or more a key: 84 MB at the most, and half as much again while the last places are made. */
const mostKeys = 2_000_000

/** Keys by a digest of 128 bits, with the row each was first seen in; two keys fall together once in 10^26 tries. */
export const openDigestMap = () => {
  let places = 1024
  let [digests, rows] = [new Uint32Array(places * words), new Uint32Array(places)]
  let count = 0

  /** The row that had the key before; none when it is new, and then `row` has it. */
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
    // Half of the places are free, so this ends.
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
