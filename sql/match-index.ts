import {DatabaseSync, type StatementSync} from 'node:sqlite'

/** A record in the index. `digests`: of its compared values. */
export type IndexedRecord = {id: string; digests: Buffer}

/** An index of records by match key, in a temporary SQLite file. */
export type IndexTable = {
  /** Adds records, or replaces them by their id. A record without a key is never found. */
  put(records: readonly (IndexedRecord & {key: Buffer | null})[]): void
  remove(ids: readonly string[]): void
  find(key: Buffer): IndexedRecord[]
  close(): void
}

/** The memory of the index, in KiB. Other pages are in a temporary file, which SQLite deletes. */
const cacheKib = 8_192

/** The keys are indexed at the first search, which takes about 1.5 s per million records. An index that grows record by record would take ten times as long. */
export const openIndexTable = (): IndexTable => {
  const db = new DatabaseSync('')
  db.exec(`
    pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -${cacheKib};
    create table records (id text primary key, match_key blob, digests blob not null) without rowid`)
  const insert = db.prepare('insert or replace into records (id, match_key, digests) values (?, ?, ?)')
  const remove = db.prepare('delete from records where id = ?')
  const find = openSearch(db)
  const together = (work: () => void) => {
    db.exec('begin')
    work()
    db.exec('commit')
  }
  return {
    put: records =>
      together(() => {
        for (const {id, key, digests} of records) insert.run(id, key, digests)
      }),
    remove: ids =>
      together(() => {
        for (const id of ids) remove.run(id)
      }),
    find: key => (find().all(key) as {id: string; digests: Uint8Array}[]).map(({id, digests}) => ({id, digests: Buffer.from(digests)})),
    close: () => db.close(),
  }
}

const openSearch = (db: DatabaseSync): (() => StatementSync) => {
  let search: StatementSync | null = null
  return () => {
    if (search) return search
    db.exec('create index by_key on records (match_key)')
    return (search = db.prepare('select id, digests from records where match_key = ?'))
  }
}
