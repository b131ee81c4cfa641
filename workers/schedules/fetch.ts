import {createHash, type Hash} from 'node:crypto'
import {fetchSource, fillPlaceholders} from '../../shared/fetch-source.ts'
import {type Spooled, spool} from '../../shared/imports/spool.ts'
import type {Outbound} from '../../shared/outbound/outbound.ts'
import {sourceOf} from '../../shared/schedules/schedule.ts'
import type {Firing} from '../../sql/firings.ts'
import {findPlan} from '../../sql/plans.ts'
import type {Schedule} from '../../sql/schedules.ts'
import type {Work} from '../worker.ts'

export type Firework = Work & {outbound: Outbound}
export type Fetched = {name: string; sha256: string; file: Spooled}

/** The file of this due time, whole, on disk and nowhere else yet. Throws SourceFailure. */
export const fetchFile = async (work: Firework, schedule: Schedule, {dueAt}: Firing): Promise<Fetched> => {
  const {db, config, outbound} = work
  const {limits} = await findPlan(db, schedule.org)
  const limitBytes = Math.min(config.FILE_LIMIT_BYTES, limits.fileBytes)
  const source = fillPlaceholders(sourceOf(config, schedule), {at: new Date(dueAt), timezone: schedule.timezone})
  const {name, stream} = await fetchSource(outbound, source, {limitBytes, signal: work.signal})
  const hash = createHash('sha256')
  const file = await spool(hashed(stream, hash))
  return {name, sha256: hash.digest('hex'), file}
}

async function* hashed(chunks: AsyncIterable<Uint8Array>, hash: Hash) {
  for await (const chunk of chunks) {
    hash.update(chunk)
    yield chunk
  }
}
