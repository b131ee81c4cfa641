import {createHash, type Hash} from 'node:crypto'
import {assertTable} from '../../shared/files/assert-table.ts'
import {sampleBytes} from '../../shared/files/text/sniff.ts'
import {type SpooledFile, spool} from '../../shared/runs/results/spool.ts'
import {fetchSource, fillPlaceholders} from '../../shared/schedules/fetch/main.ts'
import {isQuery} from '../../shared/schedules/fetch/source.ts'
import type {Outbound} from '../../shared/schedules/outbound/outbound.ts'
import {sourceOf} from '../../shared/schedules/schedule.ts'
import type {Firing} from '../../sql/firings.ts'
import {findPlan} from '../../sql/plans.ts'
import type {Schedule} from '../../sql/schedules.ts'
import type {Work} from '../worker.ts'

export type FetchDeps = Work & {outbound: Outbound}
/** `convertedFrom`: set if Lading wrote the file from the rows of a query. The reader options of the template do not apply to it. */
export type FetchedFile = {
  name: string
  charset?: string | undefined
  sha256: string
  file: SpooledFile
  convertedFrom?: 'query' | undefined
}

/**
 * Downloads the file of this due time into a temporary file. Throws SourceFailure, or NOT_A_TABLE if the server sent a web page, XML, or JSON
 * without records.
 */
export const fetchFile = async (work: FetchDeps, schedule: Schedule, {dueAt}: Pick<Firing, 'dueAt'>): Promise<FetchedFile> => {
  const {db, config, outbound} = work
  const {limits} = await findPlan(db, schedule.org)
  const limitBytes = Math.min(config.FILE_LIMIT_BYTES, limits.fileBytes)
  const source = fillPlaceholders(sourceOf(config, schedule), {at: new Date(dueAt), timezone: schedule.timezone})
  const {name, contentType, charset, stream} = await fetchSource(outbound, source, {org: schedule.org, limitBytes, signal: work.signal})
  const hash = createHash('sha256')
  const file = await spool(hashed(checked(stream, contentType), hash))
  return {name, charset, sha256: hash.digest('hex'), file, convertedFrom: isQuery(source) ? 'query' : undefined}
}

async function* hashed(chunks: AsyncIterable<Uint8Array>, hash: Hash) {
  for await (const chunk of chunks) {
    hash.update(chunk)
    yield chunk
  }
}

/** Yields the downloaded bytes. Ends the download after the first 64 KiB if they are not a table. */
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
