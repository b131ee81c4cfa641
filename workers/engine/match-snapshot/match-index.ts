import {hash} from 'node:crypto'
import {DatabaseSync} from 'node:sqlite'
import type {CrmRecord} from '../../../shared/crm/crm.ts'
import {matchKeyOf} from '../../../shared/mapping/flows/match-key.ts'
import {formOf, readFormOf} from '../match/compare-values.ts'
import type {FlowField} from '../model.ts'

/** A record as the index holds it: digests of the compared values, without the values. */
type IndexedRecord = {id: string; digests: Buffer}

export type MatchIndex = {
  /** Adds records of an export, or replaces them by their id. */
  put(records: readonly CrmRecord[]): void
  remove(ids: readonly string[]): void
  find(matchKey: Buffer): IndexedRecord[]
  /** Whether the record held exactly these values. A value that was unknown counts as different. */
  holds(record: IndexedRecord, payload: Record<string, unknown>): boolean
  close(): void
}

const digestBytes = 6
const unknownDigest = Buffer.alloc(digestBytes)
/** The memory of the index, in KiB. Other pages are in a temporary file, which SQLite deletes. */
const cacheKib = 8_192

/** Opens an index of a module's records by match key. Memory is bounded for any number of records. */
export const openRecordIndex = (matchFields: FlowField[], comparedFields: FlowField[]): MatchIndex => {
  const db = new DatabaseSync('')
  db.exec(`
    pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -${cacheKib};
    create table records (id text primary key, match_key blob, digests blob not null) without rowid;
    create index by_key on records (match_key)`)
  const insert = db.prepare('insert or replace into records (id, match_key, digests) values (?, ?, ?)')
  const remove = db.prepare('delete from records where id = ?')
  const find = db.prepare('select id, digests from records where match_key = ?')
  const together = (work: () => void) => {
    db.exec('begin')
    work()
    db.exec('commit')
  }
  return {
    put: records =>
      together(() => {
        for (const record of records) {
          const key = matchKeyOf(
            matchFields.map(({apiName}) => record[apiName]),
            matchFields,
          )
          insert.run(record.id, key, Buffer.concat(comparedFields.map(field => digestOf(readFormOf(field, record[field.apiName])))))
        }
      }),
    remove: ids => together(() => ids.forEach(id => void remove.run(id))),
    find: key => (find.all(key) as {id: string; digests: Uint8Array}[]).map(({id, digests}) => ({id, digests: Buffer.from(digests)})),
    holds: ({digests}, payload) =>
      Object.entries(payload).every(([name, value]) => {
        const at = comparedFields.findIndex(({apiName}) => apiName === name)
        const form = at < 0 ? undefined : formOf(comparedFields[at]!, value)
        return form !== undefined && digestOf(form).equals(digests.subarray(at * digestBytes, (at + 1) * digestBytes))
      }),
    close: () => db.close(),
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
