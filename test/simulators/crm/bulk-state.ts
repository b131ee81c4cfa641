import type {BulkReadQuery} from './bulk-read-query.ts'
import type {BulkWriteBody} from './bulk-write-body.ts'
import type {BulkWriteResult} from './bulk-write-rows.ts'
import type {User} from './org.ts'

/** The file of a completed job. `count`: the number of records in it. `at`: when it was written, in ms. */
export type BulkReadFile = {at: number; count: number; nextToken: string | null; zip: Buffer}

/** A bulk read. `ending`: how the job ends; a `stuck` job never ends. Times are in ms. */
export type BulkReadJob = {
  id: string
  user: User
  createdAt: number
  dueAt: number
  query: BulkReadQuery
  ending: 'file' | 'failure' | 'stuck'
  file: BulkReadFile | null
}

/** A bulk write. `unprocessed`: the number of rows at the end of the file that are not executed. `results`: null if the job failed. */
export type BulkWriteJob = {
  id: string
  user: User
  createdAt: number
  dueAt: number
  body: BulkWriteBody
  ending: 'executed' | 'skipped' | 'failed' | 'stuck'
  unprocessed: number
  done: {at: number; results: BulkWriteResult[] | null} | null
}

/** The bulk jobs of an org. `downloads`: the times of the last downloads in ms. `files`: the entries of uploaded ZIP files by name. */
export type BulkState = {
  reads: Map<string, BulkReadJob>
  pages: Map<string, {user: string; until: number; query: BulkReadQuery}>
  downloads: number[]
  files: Map<string, Map<string, Buffer>>
  writes: Map<string, BulkWriteJob>
}

export const createBulkState = (): BulkState => ({reads: new Map(), pages: new Map(), downloads: [], files: new Map(), writes: new Map()})
