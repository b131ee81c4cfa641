import {hash} from 'node:crypto'
import {type Estimate, openEstimate} from './estimate.ts'

const longestKey = 128
const sampleCount = 5
const sampleCharacters = 200

/**
 * Remembers up to `limit` distinct values of one column with their looks. Above the limit, the memory drops all values and only estimates their
 * number.
 */
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

/** Copies the beginning of a value, because a slice would keep the whole long cell in memory. */
const sampleOf = (value: string) => (value.length > sampleCharacters ? Buffer.from(value.slice(0, sampleCharacters)).toString() : value)
