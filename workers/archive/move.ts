import {randomUUID} from 'node:crypto'
import {Readable} from 'node:stream'
import {atPoint} from '../../shared/fault-point.ts'
import type {Snapshot} from '../../shared/mapping/flows/snapshot.ts'
import {readSnapshot} from '../../shared/runs/names.ts'
import {computeOutcomes, RecordsMoved} from '../../shared/runs/results/outcomes.ts'
import {linesPerSegment, packLines, SEGMENT_FORMAT, unpackLines} from '../../shared/runs/segment.ts'
import {type FinalEntry, findRecordsAt, type LogEntry, readLogPage} from '../../sql/run-log.ts'
import {
  flipToStorage,
  insertLoose,
  insertSegments,
  LOG_LIST,
  lockEnded,
  nameLoose,
  type RunToArchive,
  type Segment,
} from '../../sql/segments.ts'
import type {WorkerDeps} from '../deps.ts'

export type ArchiveDeps = Pick<WorkerDeps, 'db' | 'hot' | 'storage' | 'log' | 'drain'>

type ArchivePiece = {list: number; first: number; last: number; items: readonly object[]}

/**
 * Moves an ended run's records to storage. Each object is stored under a new key and read back. Then one transaction names all objects, and readers
 * switch to storage. After an interrupted move, only objects without a row remain, which `maintainSegments` deletes later. Returns the number of
 * moved entries. Null: the records were moved already, the run has expired, or its org is being erased.
 */
export const moveRecords = async (deps: ArchiveDeps, run: RunToArchive): Promise<number | null> => {
  const {db} = deps
  const {recordsAt, seq} = await findRecordsAt(db, run.no)
  if (recordsAt === 'storage') return null
  const segments: Segment[] = []
  for await (const piece of piecesOf(deps, run, seq)) {
    deps.drain.throwIfAborted()
    segments.push(await store(deps, run, piece))
  }
  assertWhole(segments, seq)
  atPoint('in_archive')
  return db.transaction(async tx => {
    const last = await lockEnded(tx, run.no)
    if (last === null) return null
    if (last !== seq) throw new Error(`The log grew to ${last} while ${seq} entries were moved: an ended run was written to`)
    await insertSegments(tx, {run: run.no, segments})
    await nameLoose(
      tx,
      segments.map(({key}) => key),
    )
    await flipToStorage(tx, run.no)
    return seq
  })
}

/**
 * Yields the log, then the outcomes of the rows of each source that a flow reads. Runs of external engines have only a log, because those
 * engines read their rows themselves.
 */
async function* piecesOf(deps: ArchiveDeps, run: RunToArchive, seq: number): AsyncGenerator<ArchivePiece> {
  yield* piecesOfLog(deps, run)
  if (run.snapshotNo === null) return
  const {sources, flows} = await readSnapshot(deps.db, run.snapshotNo)
  const read = sources.filter(({no}) => flows.some(({sourceNo}) => sourceNo === no))
  for (const source of read) yield* piecesOfOutcomes(deps, {run: run.no, source, flows, seq})
}

async function* piecesOfLog({hot}: ArchiveDeps, {no}: RunToArchive): AsyncGenerator<ArchivePiece> {
  for (let after = 0; ; after += linesPerSegment) {
    const items: LogEntry[] | null = await readLogPage(hot, {run: no, after, limit: linesPerSegment})
    if (!items) throw new RecordsMoved('Another worker moved the records meanwhile')
    if (items.length === 0) return
    yield {list: LOG_LIST, first: items[0]!.seq, last: items.at(-1)!.seq, items}
    if (items.length < linesPerSegment) return
  }
}

type Outcomes = {run: number; source: Snapshot['sources'][number]; flows: Snapshot['flows']; seq: number}

/** Yields the outcomes of one source's rows in pieces. All entries of a row stay in one piece. */
async function* piecesOfOutcomes({hot}: ArchiveDeps, of: Outcomes): AsyncGenerator<ArchivePiece> {
  let items: FinalEntry[] = []
  const piece = (): ArchivePiece => ({list: of.source.no, first: items[0]!.number, last: items.at(-1)!.number, items})
  for await (const finals of computeOutcomes(hot, of)) {
    items.push(...finals)
    if (items.length < linesPerSegment) continue
    yield piece()
    items = []
  }
  if (items.length) yield piece()
}

const store = async ({db, storage}: ArchiveDeps, {id, org}: RunToArchive, {items, ...range}: ArchivePiece): Promise<Segment> => {
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
