import {createHash, type Hash} from 'node:crypto'
import {fetchSource, fillPlaceholders} from '../../shared/fetch-source.ts'
import {assertTable} from '../../shared/imports/not-a-table.ts'
import {sampleBytes} from '../../shared/imports/sniff.ts'
import {type Spooled, spool} from '../../shared/imports/spool.ts'
import type {Outbound} from '../../shared/outbound/outbound.ts'
import {sourceOf} from '../../shared/schedules/schedule.ts'
import type {Firing} from '../../sql/firings.ts'
import {findPlan} from '../../sql/plans.ts'
import type {Schedule} from '../../sql/schedules.ts'
import type {Work} from '../worker.ts'

export type Firework = Work & {outbound: Outbound}
export type Fetched = {name: string; charset?: string | undefined; sha256: string; file: Spooled}

/** The file of this due time, whole, on disk and nowhere else yet. Throws SourceFailure, and NOT_A_TABLE for a web page in its place. */
export const fetchFile = async (work: Firework, schedule: Schedule, {dueAt}: Firing): Promise<Fetched> => {
  const {db, config, outbound} = work
  const {limits} = await findPlan(db, schedule.org)
  const limitBytes = Math.min(config.FILE_LIMIT_BYTES, limits.fileBytes)
  const source = fillPlaceholders(sourceOf(config, schedule), {at: new Date(dueAt), timezone: schedule.timezone})
  const {name, contentType, charset, stream} = await fetchSource(outbound, source, {org: schedule.org, limitBytes, signal: work.signal})
  const hash = createHash('sha256')
  const file = await spool(hashed(checked(stream, contentType), hash))
  return {name, charset, sha256: hash.digest('hex'), file}
}

async function* hashed(chunks: AsyncIterable<Uint8Array>, hash: Hash) {
  for await (const chunk of chunks) {
    hash.update(chunk)
    yield chunk
  }
}

/** Ends the download at its first 64 KiB if those are no table. */
async function* checked(chunks: AsyncIterable<Uint8Array>, contentType: string | undefined) {
  let sample: Uint8Array[] | null = []
  let length = 0
  for await (const chunk of chunks) {
    yield chunk
    sample?.push(chunk)
    length += chunk.length
    if (!sample || length < sampleBytes) continue
    assertTable(Buffer.concat(sample).subarray(0, sampleBytes), contentType)
    sample = null
  }
  if (sample) assertTable(Buffer.concat(sample), contentType)
}
