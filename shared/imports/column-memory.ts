import {hash} from 'node:crypto'

const longestKey = 128
const sampleCount = 5
const sampleCharacters = 200

/** The values of one column and the look each was given, up to `limit` of them; past that it forgets them all and only says that there are more. */
export const openColumnMemory = (limit: number) => {
  let known: Map<string, number> | undefined = new Map()
  const samples: string[] = []
  const keep = (value: string, look: number) => {
    if (!known) return look
    if (samples.length < sampleCount) samples.push(sampleOf(value))
    if (known.size < limit) known.set(keyOf(value), look)
    else known = undefined
    return look
  }
  return {
    recall: (value: string) => known?.get(keyOf(value)),
    keep,
    findings: () => ({distinct: {count: known?.size ?? limit, more: !known}, samples}),
  }
}

const keyOf = (value: string) => (value.length > longestKey ? hash('sha1', value) : value)

/** A copy: a slice would hold on to the whole of a long cell. */
const sampleOf = (value: string) => (value.length > sampleCharacters ? Buffer.from(value.slice(0, sampleCharacters)).toString() : value)
