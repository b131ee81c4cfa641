/** Returns how many bytes follow a lead byte of UTF-8, and the valid range of the first following byte. */
const follow = (lead: number): [count: number, low: number, high: number] => {
  if (lead >= 0xc2 && lead <= 0xdf) return [1, 0x80, 0xbf]
  if (lead >= 0xe0 && lead <= 0xef) return [2, lead === 0xe0 ? 0xa0 : 0x80, lead === 0xed ? 0x9f : 0xbf]
  if (lead >= 0xf0 && lead <= 0xf4) return [3, lead === 0xf0 ? 0x90 : 0x80, lead === 0xf4 ? 0x8f : 0xbf]
  return [0, 0, 0]
}

/**
 * Calls `onBad` for each place that is not UTF-8. A place has the bytes that the WHATWG decoder replaces by one U+FFFD. Returns the number of
 * valid `characters` beyond ASCII, and as `rest` the number of bytes of an incomplete character at the end.
 */
export const scanUtf8 = (bytes: Uint8Array, onBad: (from: number, to: number) => void): {characters: number; rest: number} => {
  let characters = 0
  let at = 0
  while (at < bytes.length) {
    const lead = bytes[at]!
    if (lead < 0x80) {
      at++
      continue
    }
    const [count, low, high] = follow(lead)
    let next = at + 1
    const end = next + count
    while (next < end && next < bytes.length) {
      const byte = bytes[next]!
      const isFirst = next === at + 1
      if (byte < (isFirst ? low : 0x80) || byte > (isFirst ? high : 0xbf)) break
      next++
    }
    if (next < end && next === bytes.length) return {characters, rest: bytes.length - at}
    if (count > 0 && next === end) characters++
    else onBad(at, next)
    at = next
  }
  return {characters, rest: 0}
}

/** Counts characters beyond ASCII in valid UTF-8. */
export const countBeyondAscii = (bytes: Uint8Array): number => {
  let count = 0
  for (let at = 0; at < bytes.length; at++) if (bytes[at]! >= 0xc0) count++
  return count
}

/** Returns the number of bytes of an incomplete character at the end. */
export const cutLength = (bytes: Uint8Array) => {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!
    if ((byte & 0xc0) === 0x80) continue
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return needed > back ? back : 0
  }
  return 0
}
