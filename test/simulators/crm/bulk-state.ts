import type {BulkReadQuery} from './bulk-read-query.ts'
import type {User} from './org.ts'

/** The file of a completed job. `count`: of its records. */
export type BulkReadFile = {at: number; count: number; nextToken: string | null; zip: Buffer}

/** `ending`: how the job ends; `stuck`: never. */
export type BulkReadJob = {
  id: string
  user: User
  createdAt: number
  dueAt: number
  query: BulkReadQuery
  ending: 'file' | 'failure' | 'stuck'
  file: BulkReadFile | null
}

/** The bulk jobs of an org. `downloads`: the times of the last downloads of results. */
export type BulkState = {
  reads: Map<string, BulkReadJob>
  pages: Map<string, {user: string; until: number; query: BulkReadQuery}>
  downloads: number[]
}

export const createBulkState = (): BulkState => ({reads: new Map(), pages: new Map(), downloads: []})
