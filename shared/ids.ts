import {randomUUID} from 'node:crypto'

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const PREFIXES = [
  'org',
  'per',
  'mem',
  'ses',
  'sgn',
  'tok',
  'inv',
  'chg',
  'stf',
  'act',
  'con',
  'dis',
  'imp',
  'src',
  'run',
  'wrt',
  'lib',
  'tpl',
  'job',
  'req',
  'spl',
  'sch',
  'fir',
  'ntc',
  'whk',
  'dlv',
  'crd',
  'pch',
  'chk',
  'top',
  'mcl',
  'oar',
  'ogr',
  'aiu',
  'trn',
  'upl',
  'emb',
] as const

/** Creates an opaque id such as `imp_01k9…`: a UUIDv7 in base32, so that ids of one kind sort by creation. */
export const newId = (prefix: (typeof PREFIXES)[number]) => `${prefix}_${base32(uuidV7())}`

/**
 * Creates an id that sorts after `last`, even if `last` comes from a process whose clock is ahead. Call it under a lock, so that no two callers
 * have the same `last`.
 */
export const newIdAfter = (prefix: (typeof PREFIXES)[number], last: string | null): string => {
  const id = newId(prefix)
  if (last === null || id > last) return id
  const rest = last.replace(/z+$/, '')
  return rest.slice(0, -1) + ALPHABET[ALPHABET.indexOf(rest.at(-1)!) + 1] + ALPHABET[0]!.repeat(last.length - rest.length)
}

/** A UUIDv7: 48 bits of milliseconds, the version, a counter of 12 bits, then the variant and random bits of a random UUID. */
const uuidV7 = () => {
  tick()
  const random = randomUUID().replaceAll('-', '')
  const count = last.count.toString(16).padStart(3, '0')
  return Buffer.from(`${last.ms.toString(16).padStart(12, '0')}7${count}${random.slice(16)}`, 'hex')
}

const last = {ms: 0, count: 0}

/** Keeps ids of one process sorted by creation, also within a millisecond and after the clock was set back. */
const tick = () => {
  const now = Date.now()
  if (now > last.ms) Object.assign(last, {ms: now, count: 0})
  else if (++last.count > 0xfff) Object.assign(last, {ms: last.ms + 1, count: 0})
}

/** Encodes 16 bytes in 26 characters. Two leading zero bits make the length of 128 bits a multiple of five. */
export const base32 = (bytes: Buffer) => {
  let text = ''
  let held = 0
  let bits = 2
  for (const byte of bytes) {
    held = (held << 8) | byte
    for (bits += 8; bits >= 5; ) {
      bits -= 5
      text += ALPHABET[(held >>> bits) & 31]
      held &= (1 << bits) - 1
    }
  }
  return text
}
