import {asText} from './as-text.js'

const LONGEST_HASHED = 20_000

/** `hash(text)`: SHA-256 of the text's UTF-8 (FIPS 180-4), 64 hexadecimal digits. At most 20,000 characters. Null stays null. */
export const hash = value => {
  const text = asText(value, 'hash')
  if (text === null) return null
  if (text.length > LONGEST_HASHED) throw new RangeError(`helpers.hash takes at most ${LONGEST_HASHED} characters`)
  const bytes = padded(utf8(text))
  const state = Int32Array.from(START)
  const schedule = new Int32Array(64)
  for (let at = 0; at < bytes.length; at += 64) absorb(state, schedule, bytes, at)
  return [...state].map(part => (part >>> 0).toString(16).padStart(8, '0')).join('')
}

const utf8 = text => {
  const bytes = []
  for (const sign of text.isWellFormed() ? text : text.toWellFormed()) {
    const code = sign.codePointAt(0)
    if (code < 0x80) bytes.push(code)
    else if (code < 0x800) bytes.push(0xc0 | (code >> 6), 0x80 | (code & 63))
    else if (code < 0x10000) bytes.push(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63))
    else bytes.push(0xf0 | (code >> 18), 0x80 | ((code >> 12) & 63), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63))
  }
  return bytes
}

const padded = bytes => {
  const bits = bytes.length * 8
  bytes.push(0x80)
  while (bytes.length % 64 !== 56) bytes.push(0)
  for (let shift = 56; shift >= 0; shift -= 8) bytes.push(Math.floor(bits / 2 ** shift) & 255)
  return bytes
}

const turn = (word, by) => (word >>> by) | (word << (32 - by))

const absorb = (state, schedule, bytes, from) => {
  for (let at = 0; at < 16; at++) {
    const byte = from + at * 4
    schedule[at] = (bytes[byte] << 24) | (bytes[byte + 1] << 16) | (bytes[byte + 2] << 8) | bytes[byte + 3]
  }
  for (let at = 16; at < 64; at++) {
    const early = schedule[at - 15]
    const late = schedule[at - 2]
    const mixed = (turn(early, 7) ^ turn(early, 18) ^ (early >>> 3)) + (turn(late, 17) ^ turn(late, 19) ^ (late >>> 10))
    schedule[at] = schedule[at - 16] + schedule[at - 7] + mixed
  }
  let [a, b, c, d, e, f, g, h] = state
  for (let at = 0; at < 64; at++) {
    const first = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + ROUND[at] + schedule[at]) | 0
    const second = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0
    ;[h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0]
  }
  const rounds = [a, b, c, d, e, f, g, h]
  for (let at = 0; at < 8; at++) state[at] += rounds[at]
}

/** Returns the first 32 bits of a root's fractional part. FIPS 180-4 defines its constants by these bits. */
const fraction = root => Math.floor((root - Math.floor(root)) * 2 ** 32) | 0

const primes = count => {
  const found = []
  for (let next = 2; found.length < count; next++) if (found.every(prime => next % prime)) found.push(next)
  return found
}

const START = primes(8).map(prime => fraction(Math.sqrt(prime)))
const ROUND = primes(64).map(prime => fraction(Math.cbrt(prime)))
