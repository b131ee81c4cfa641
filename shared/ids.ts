import {randomUUID} from 'node:crypto'

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const PREFIXES = ['org', 'per', 'mem', 'ses', 'sgn', 'tok', 'con', 'dis', 'imp', 'src', 'run', 'job', 'req', 'spl'] as const

/** An opaque id such as `imp_01k9…`: UUIDv7 in base32, so ids of one kind sort by creation. */
export const newId = (prefix: (typeof PREFIXES)[number]) => `${prefix}_${base32(uuidV7())}`

const uuidV7 = () => {
  const random = randomUUID().replaceAll('-', '')
  const time = Date.now().toString(16).padStart(12, '0')
  return BigInt(`0x${time}7${random.slice(13)}`)
}

const base32 = (value: bigint) => {
  let text = ''
  for (let shift = 125n; shift >= 0n; shift -= 5n) text += ALPHABET[Number((value >> shift) & 31n)]
  return text
}
