import {DatabaseSync, type StatementSync} from 'node:sqlite'
import {setImmediate as yieldNow} from 'node:timers/promises'

/** A record in the index. `digests`: the digests of its compared values. */
export type IndexedRecord = {id: string; digests: Buffer}

type KeyedRecord = IndexedRecord & {key: Buffer | null}

/** An index of records by match key, in a temporary SQLite file. A record without a key is never found. */
export type IndexTable = {
  /** Adds records. If an id is added twice with different keys, both keys may find the record until `put` or `remove`. */
  fill(records: readonly KeyedRecord[]): void
  /**
   * Indexes the keys. Call it after the last `fill` and before the first `find`. If every `fill` updated the index, filling would take ten times
   * as long.
   */
  finish(): Promise<void>
  /** Adds records, or replaces them by their id. */
  put(records: readonly KeyedRecord[]): void
  remove(ids: readonly string[]): void
  find(key: Buffer): IndexedRecord[]
  close(): void
}

/** The memory of the index, in KiB. SQLite keeps other pages in a temporary file and deletes that file. */
const cacheKib = 8_192
/** Records are divided by their key, so that no step blocks the process for long: 5,000,000 records take 8 steps of about a second. */
const partCount = 8

export const openIndexTable = (): IndexTable => {
  const db = new DatabaseSync('')
  db.exec(`pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -${cacheKib}`)
  const parts = Array.from({length: partCount}, (_, no) => openPart(db, no))
  const partOf = (key: Buffer | null) => parts[key === null ? 0 : key[0]! % partCount]!
  const inTransaction = (work: () => void) => {
    db.exec('begin')
    work()
    db.exec('commit')
  }
  const removeOne = (id: string) => {
    for (const part of parts) part.remove(id)
  }
  return {
    fill: records =>
      inTransaction(() => {
        for (const record of records) partOf(record.key).insert(record)
      }),
    async finish() {
      for (const part of parts) {
        part.index()
        await yieldNow()
      }
    },
    put: records =>
      inTransaction(() => {
        for (const record of records) {
          removeOne(record.id)
          partOf(record.key).insert(record)
        }
      }),
    remove: ids => inTransaction(() => ids.forEach(removeOne)),
    find: key => partOf(key).find(key),
    close: () => db.close(),
  }
}

const openPart = (db: DatabaseSync, no: number) => {
  const table = `records_${no}`
  db.exec(`create table ${table} (id text primary key, match_key blob, digests blob not null) without rowid`)
  const insert = db.prepare(`insert or replace into ${table} (id, match_key, digests) values (?, ?, ?)`)
  const remove = db.prepare(`delete from ${table} where id = ?`)
  let search: StatementSync | null = null
  return {
    insert: ({id, key, digests}: KeyedRecord) => void insert.run(id, key, digests),
    remove: (id: string) => void remove.run(id),
    index() {
      db.exec(`create index by_key_${no} on ${table} (match_key)`)
      search = db.prepare(`select id, digests from ${table} where match_key = ?`)
    },
    find(key: Buffer): IndexedRecord[] {
      if (!search) throw new Error('The keys are not indexed yet')
      return (search.all(key) as {id: string; digests: Uint8Array}[]).map(({id, digests}) => ({id, digests: Buffer.from(digests)}))
    },
  }
}
