import {hash} from 'node:crypto'
import type {CrmRecord} from '../../../shared/crm/crm.ts'
import {matchKeyOf} from '../../../shared/mapping/flows/match-key.ts'
import {type IndexedRecord, openIndexTable} from '../../../sql/match-index.ts'
import {formOf, readFormOf} from '../match/compare-values.ts'
import type {FlowField} from '../model.ts'

export type MatchIndex = {
  /** Adds records, or replaces them by their id. */
  put(records: readonly CrmRecord[]): void
  remove(ids: readonly string[]): void
  find(matchKey: Buffer): IndexedRecord[]
  /** Whether the record held exactly these values. A value that was unknown counts as different. */
  holds(record: IndexedRecord, payload: Record<string, unknown>): boolean
  close(): void
}

const digestBytes = 6
const unknownDigest = Buffer.alloc(digestBytes)

/** Opens an index of a module's records by match key, with digests of the compared values. Memory is bounded for any number of records. */
export const openMatchIndex = (matchFields: FlowField[], comparedFields: FlowField[]): MatchIndex => {
  const {put, remove, find, close} = openIndexTable()
  return {
    ...{remove, find, close},
    put: records =>
      put(
        records.map(record => ({
          id: record.id,
          key: matchKeyOf(
            matchFields.map(({apiName}) => record[apiName]),
            matchFields,
          ),
          digests: Buffer.concat(comparedFields.map(field => digestOf(readFormOf(field, record[field.apiName])))),
        })),
      ),
    holds: ({digests}, payload) =>
      Object.entries(payload).every(([name, value]) => {
        const at = comparedFields.findIndex(({apiName}) => apiName === name)
        const form = at < 0 ? undefined : formOf(comparedFields[at]!, value)
        return form !== undefined && digestOf(form).equals(digests.subarray(at * digestBytes, (at + 1) * digestBytes))
      }),
  }
}

const digestOf = (form: string | undefined): Buffer =>
  form === undefined ? unknownDigest : hash('sha1', form, 'buffer').subarray(0, digestBytes)

const LINKS = new Set(['lookup', 'ownerlookup', 'userlookup'])

/** Returns a text of an export as the value that a read of the record shows. Source of the forms: the vendor's pages of bulk read. */
export const valueOfText = ({type}: Pick<FlowField, 'type'>, text: string): unknown => {
  if (text === '') return null
  if (type === 'boolean') return text === 'true'
  if (LINKS.has(type)) return {id: text}
  return type === 'multiselectpicklist' ? text.split(';') : text
}
