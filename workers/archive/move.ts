import {randomUUID} from 'node:crypto'
import {Readable} from 'node:stream'
import {atPoint} from '../../shared/fault-point.ts'
import type {Snapshot} from '../../shared/flows/snapshot.ts'
import {readSnapshot} from '../../shared/runs/names.ts'
import {computeOutcomes, RecordsMoved} from '../../shared/runs/outcomes.ts'
import {linesPerSegment, packLines, SEGMENT_FORMAT, unpackLines} from '../../shared/runs/segment.ts'
import {type FinalEntry, findRecordsAt, type LogEntry, readLogPage} from '../../sql/run-log.ts'
import {
  flipToStorage,
  insertLoose,
  insertSegments,
  LOG_LIST,
  lockEnded,
  nameLoose,
  type Segment,
  type Unarchived,
} from '../../sql/segments.ts'
import type {Tools} from '../tools.ts'

export type Archiving = Pick<Tools, 'db' | 'hot' | 'storage' | 'log' | 'drain'>

type Piece = {list: number; first: number; last: number; items: readonly object[]}

/**
 * Moves an ended run's records to storage: each object is stored under a key of its own and read back, then one transaction names them
 * all, and from then on readers go there. Broken off before that, nothing has happened but objects that the sweep of loose ones finds.
 * Answers how many entries were moved; null when there was nothing to move any more.
 */
export const moveRecords = async (tools: Archiving, run: Unarchived): Promise<number | null> => {
  const {db} = tools
  const {recordsAt, seq} = await findRecordsAt(db, run.no)
  if (recordsAt === 'storage') return null
  const segments: Segment[] = []
  for await (const piece of piecesOf(tools, run, seq)) {
    tools.drain.throwIfAborted()
    segments.push(await store(tools, run, piece))
  }
  assertWhole(segments, seq)
  atPoint('in_archive')
  return db.transaction(async tx => {
    const last = await lockEnded(tx, run.no)
    if (last === null) return null
    if (last !== seq) throw new Error(`The log went on to ${last} while ${seq} entries were moved: an ended run is written to`)
    await insertSegments(tx, {run: run.no, segments})
    await nameLoose(
      tx,
      segments.map(({key}) => key),
    )
    await flipToStorage(tx, run.no)
    return seq
  })
}

/** The log, then what became of the rows of each source. An engine outside read its rows itself: of its runs there is the log alone. */
async function* piecesOf(tools: Archiving, run: Unarchived, seq: number): AsyncGenerator<Piece> {
  yield* piecesOfLog(tools, run)
  if (run.snapshotNo === null) return
  const {sources, flows} = await readSnapshot(tools.db, run.snapshotNo)
  const read = sources.filter(({no}) => flows.some(({sourceNo}) => sourceNo === no))
  for (const source of read) yield* piecesOfOutcomes(tools, {run: run.no, source, flows, seq})
}

async function* piecesOfLog({hot}: Archiving, {no}: Unarchived): AsyncGenerator<Piece> {
  for (let after = 0; ; after += linesPerSegment) {
    const items: LogEntry[] | null = await readLogPage(hot, {run: no, after, limit: linesPerSegment})
    if (!items) throw new RecordsMoved('Another worker moved the records meanwhile')
    if (items.length === 0) return
    yield {list: LOG_LIST, first: items[0]!.seq, last: items.at(-1)!.seq, items}
    if (items.length < linesPerSegment) return
  }
}

type Outcomes = {run: number; source: Snapshot['sources'][number]; flows: Snapshot['flows']; seq: number}

/** A row is never cut in two: a piece ends with the window that fills it. */
async function* piecesOfOutcomes({hot}: Archiving, of: Outcomes): AsyncGenerator<Piece> {
  let items: FinalEntry[] = []
  const piece = (): Piece => ({list: of.source.no, first: items[0]!.number, last: items.at(-1)!.number, items})
  for await (const finals of computeOutcomes(hot, of)) {
    items.push(...finals)
    if (items.length < linesPerSegment) continue
    yield piece()
    items = []
  }
  if (items.length) yield piece()
}

/** Stored, and read back before anybody relies on it. */
const store = async ({db, storage}: Archiving, {id, org}: Unarchived, {items, ...range}: Piece): Promise<Segment> => {
  const {packed, rows, bytes, sha256} = await packLines(items)
  const key = `${org}/runs/${id}/${range.list}-${range.first}-${randomUUID()}.ndjson.gz`
  await insertLoose(db, key)
  await storage.put(key, Readable.from([packed]))
  atPoint('in_archive')
  await unpackLines(storage, {key, bytes, sha256})
  return {...range, rows, bytes, sha256, format: SEGMENT_FORMAT, storage: storage.kind, key}
}

const assertWhole = (segments: Segment[], seq: number) => {
  let next = 1
  for (const {list, first, last, rows} of segments) {
    if (list !== LOG_LIST) continue
    if (first !== next || last - first + 1 !== rows) throw new Error(`The log has a gap between ${next} and ${first}`)
    next = last + 1
  }
  if (next !== seq + 1) throw new Error(`The log ends at ${next - 1} and its run has written ${seq} entries`)
}
