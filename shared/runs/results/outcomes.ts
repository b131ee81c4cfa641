import type {Db, Hot} from '../../../sql/database.ts'
import {type FinalEntry, findRecordsAt, listFinals} from '../../../sql/run-log.ts'
import {listSegments, type Segment} from '../../../sql/segments.ts'
import type {Snapshot, SnapshotSource} from '../../mapping/flows/snapshot.ts'
import type {Storage} from '../../storage/storage.ts'
import {itemsOf, readLines} from '../segment.ts'

const rowsPerLook = 1_000
const segmentsPerLook = 100

/** The rows whose outcomes are read, by default all. The result contains the rows `from` to `to`, and may contain others. */
type OutcomeRange = {run: number; source: SnapshotSource; flows: Snapshot['flows']; from?: number; to?: number}

/** Thrown if the run's records moved to storage during a read from the database. Records move once, so the caller reads again, now from storage. */
export class RecordsMoved extends Error {
  override name = 'RecordsMoved'
}

/**
 * Yields the final outcomes of a source's rows in row order, in groups. For a run in progress, these are the outcomes at the start of the
 * read. The log only grows, so its entries up to the last seq of that time are consistent.
 */
export async function* readOutcomes(place: {db: Db; hot: Hot; storage: Storage}, outcomeRange: OutcomeRange): AsyncGenerator<FinalEntry[]> {
  const {recordsAt, seq} = await findRecordsAt(place.db, outcomeRange.run)
  if (recordsAt === 'db') yield* computeOutcomes(place.hot, {...outcomeRange, seq})
  else yield* readMoved(place, outcomeRange)
}

/** Throws `RecordsMoved` if the log is no longer in the database. */
export async function* computeOutcomes(
  hot: Hot,
  {run, source, flows, seq, from: first = 1, to: last = source.rows}: OutcomeRange & {seq: number},
): AsyncGenerator<FinalEntry[]> {
  const mine = flows.filter(({sourceNo}) => sourceNo === source.no).map(({no}) => no)
  const looks = function* () {
    for (let from = first; from <= Math.min(last, source.rows); from += rowsPerLook)
      yield () => listFinals(hot, {run, flows: mine, from, to: from + rowsPerLook - 1, seq})
  }
  for await (const finals of oneAhead(looks())) {
    if (!finals) throw new RecordsMoved('The records were moved to storage')
    yield finals
  }
}

/** Runs the steps in order and yields their results. Each step starts while the consumer processes the previous result. */
async function* oneAhead<T>(steps: Iterable<() => Promise<T>>): AsyncGenerator<T> {
  let next: Promise<T> | null = null
  for (const begin of steps) {
    const before = next
    next = begin()
    // The handler prevents an unhandled rejection. The error is thrown when the step is awaited.
    next.catch(() => {})
    if (before) yield await before
  }
  if (next) yield await next
}

async function* readMoved(
  {db, storage}: {db: Db; storage: Storage},
  {run, source, from: first = 1, to: last = source.rows}: OutcomeRange,
): AsyncGenerator<FinalEntry[]> {
  for (let from = first, segments: readonly Segment[] = []; ; from = segments.at(-1)!.last + 1) {
    segments = await listSegments(db, {run, list: source.no, from, limit: segmentsPerLook})
    for await (const lines of oneAhead(segments.map(segment => () => readLines(storage, segment)))) yield itemsOf<FinalEntry>(lines)
    if (segments.length < segmentsPerLook || segments.at(-1)!.last >= last) return
  }
}
