import {hash} from 'node:crypto'
import {type Estimate, openEstimate} from './estimate.ts'

const longestKey = 128
const sampleCount = 5
const sampleCharacters = 200

/** The values of one column and the look each was given, up to `limit` of them; past that it forgets them all and estimates how many there are. */
export const openColumnMemory = (limit: number) => {
  let known: Map<string, number> | undefined = new Map()
  const samples: string[] = []
  let estimate: Estimate | undefined
  const keep = (value: string, look: number) => {
    if (!known) {
      estimate!.add(keyOf(value))
      return look
    }
    if (samples.length < sampleCount) samples.push(sampleOf(value))
    if (known.size < limit) known.set(keyOf(value), look)
    else {
      estimate = openEstimate([...known.keys(), keyOf(value)])
      known = undefined
    }
    return look
  }
  return {
    recall: (value: string) => known?.get(keyOf(value)),
    keep,
    findings: () => ({
      distinct: {count: known?.size ?? limit, more: !known, ...(estimate && {about: Math.max(limit + 1, estimate.count())})},
      samples,
    }),
  }
}

const keyOf = (value: string) => (value.length > longestKey ? hash('sha1', value) : value)

/** A copy: a slice would hold on to the whole of a long cell. */
const sampleOf = (value: string) => (value.length > sampleCharacters ? Buffer.from(value.slice(0, sampleCharacters)).toString() : value)
