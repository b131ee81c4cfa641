import type {Db, Hot} from '../../sql/database.ts'
import {type FinalEntry, findRecordsAt, listFinals} from '../../sql/run-log.ts'
import {listSegments, type Segment} from '../../sql/segments.ts'
import type {Snapshot, SnapshotSource} from '../flows/snapshot.ts'
import type {Storage} from '../storage.ts'
import {itemsOf, readLines} from './segment.ts'

const rowsPerLook = 1_000
const segmentsPerLook = 100

/** `from`, `to`: of these rows at least; left out, of all. */
type Of = {run: number; source: SnapshotSource; flows: Snapshot['flows']; from?: number; to?: number}

/** The run's records went to storage while they were read here: whoever reads begins again, there. It happens once in a run's life. */
export class RecordsMoved extends Error {
  override name = 'RecordsMoved'
}

/**
 * What finally became of a source's rows, in their order, some rows at a time; of a run under way, as it stood when the reading began: the
 * log only grows, so everything up to the seq it had then is that state.
 */
export async function* readOutcomes(place: {db: Db; hot: Hot; storage: Storage}, of: Of): AsyncGenerator<FinalEntry[]> {
  const {recordsAt, seq} = await findRecordsAt(place.db, of.run)
  if (recordsAt === 'db') yield* computeOutcomes(place.hot, {...of, seq})
  else yield* readMoved(place, of)
}

/** The same from the log itself. Throws `RecordsMoved` when that is not here any more. */
export async function* computeOutcomes(
  hot: Hot,
  {run, source, flows, seq, from: first = 1, to: last = source.rows}: Of & {seq: number},
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

/** Each is begun while whoever reads is busy with the one before. */
async function* oneAhead<T>(steps: Iterable<() => Promise<T>>): AsyncGenerator<T> {
  let next: Promise<T> | null = null
  for (const begin of steps) {
    const before = next
    next = begin()
    // Told when its turn comes, if it does.
    next.catch(() => {})
    if (before) yield await before
  }
  if (next) yield await next
}

async function* readMoved(
  {db, storage}: {db: Db; storage: Storage},
  {run, source, from: first = 1, to: last = source.rows}: Of,
): AsyncGenerator<FinalEntry[]> {
  for (let from = first, segments: readonly Segment[] = []; ; from = segments.at(-1)!.last + 1) {
    segments = await listSegments(db, {run, list: source.no, from, limit: segmentsPerLook})
    for await (const lines of oneAhead(segments.map(segment => () => readLines(storage, segment)))) yield itemsOf<FinalEntry>(lines)
    if (segments.length < segmentsPerLook || segments.at(-1)!.last >= last) return
  }
}
