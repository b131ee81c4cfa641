import {randomInt} from 'node:crypto'
import type {CrmRecord} from '../../../shared/crm/crm.ts'
import {matchKeyOf} from '../../../shared/mapping/flows/match-key.ts'
import {BOOLEANS} from '../../../shared/mapping/flows/value.ts'
import {type IndexedRecord, openIndexTable} from '../../../sql/match-index.ts'
import {formOf, readFormOf} from '../match/compare-values.ts'
import type {FlowField} from '../model.ts'

export type MatchIndex = {
  /** Adds the records of an export. If a record occurs twice with different keys, both keys may find the record until `put` replaces it. */
  fill(records: readonly CrmRecord[]): void
  /** Indexes the keys. Call it after the last `fill` and before the first `find`. */
  finish(): Promise<void>
  put(records: readonly CrmRecord[]): void
  remove(ids: readonly string[]): void
  find(matchKey: Buffer): IndexedRecord[]
  /** Whether the record had exactly these values when it was last read. False if a value is unknown. */
  holds(record: IndexedRecord, payload: Record<string, unknown>): boolean
  close(): void
}

const digestBytes = 6
const unknownDigest = 0

/**
 * Opens an index of a module by match key, with digests of the compared values. The index is in a temporary file, so its memory is bounded
 * for any number of records.
 */
export const openMatchIndex = (matchFields: FlowField[], comparedFields: FlowField[]): MatchIndex => {
  const {fill, finish, put, remove, find, close} = openIndexTable()
  const seed = randomInt(2 ** 32)
  const places = new Map(comparedFields.map(({apiName}, at) => [apiName, at]))
  const digestsOf = (record: CrmRecord) => {
    const digests = Buffer.allocUnsafe(comparedFields.length * digestBytes)
    for (const [at, field] of comparedFields.entries())
      digests.writeUIntBE(digestOf(readFormOf(field, record[field.apiName]), seed), at * digestBytes, digestBytes)
    return digests
  }
  const keyed = (record: CrmRecord) => ({
    id: record.id,
    key: matchKeyOf(
      matchFields.map(({apiName}) => record[apiName]),
      matchFields,
    ),
    digests: digestsOf(record),
  })
  return {
    finish,
    remove,
    find,
    close,
    fill: records => fill(records.map(keyed)),
    put: records => put(records.map(keyed)),
    holds: ({digests}, payload) =>
      Object.entries(payload).every(([name, value]) => {
        const at = places.get(name)
        const form = at === undefined ? undefined : formOf(comparedFields[at]!, value)
        return form !== undefined && digestOf(form, seed) === digests.readUIntBE(at! * digestBytes, digestBytes)
      }),
  }
}

/**
 * Returns 48 bits of a text, from two multiplicative hashes with a random seed. Two different texts have the same digest with a chance of 2^-48.
 * A cryptographic digest of each value would take a quarter of the processor time of a match.
 */
const digestOf = (form: string | undefined, seed: number): number => {
  if (form === undefined) return unknownDigest
  let [low, high] = [seed ^ 0x9e3779b1, seed ^ 0x85ebca77]
  for (let at = 0; at < form.length; at++) {
    const code = form.charCodeAt(at)
    low = Math.imul(low ^ code, 0x9e3779b1)
    low ^= low >>> 15
    high = Math.imul(high ^ code, 0xc2b2ae3d)
    high ^= high >>> 13
  }
  low = Math.imul(low ^ (low >>> 16) ^ form.length, 0x85ebca6b)
  high = Math.imul(high ^ (high >>> 15) ^ form.length, 0x27d4eb2f)
  low ^= low >>> 13
  high ^= high >>> 16
  return (high & 0xffff) * 2 ** 32 + (low >>> 0) || 1
}

const LINKS = new Set(['lookup', 'ownerlookup', 'userlookup'])

/**
 * Returns a text of an export in the form in which a read of the record shows the value. Source of the forms: the vendor's pages of bulk
 * read. They do not say how a boolean is spelled. Undefined for an unknown spelling.
 */
export const valueOfText = ({type}: Pick<FlowField, 'type'>, text: string): unknown => {
  if (text === '') return null
  if (type === 'boolean') return BOOLEANS.get(text.toLowerCase())
  if (LINKS.has(type)) return {id: text}
  return type === 'multiselectpicklist' ? text.split(';') : text
}
