import {setTimeout as sleep} from 'node:timers/promises'
import type {Log} from '../../../shared/telemetry/log.ts'
import {rowsSettled} from '../../../shared/telemetry/metrics/rows.ts'
import {type Hot, isFateUnknown, isPassing, type Pool, sqlStateOf} from '../../../sql/database.ts'
import type {EmptyLink} from '../../../sql/empty-links.ts'
import {
  type ChainRow,
  GATE_SHUT,
  type LogRow,
  type PatchedRow,
  type RecordMarks,
  type ReleasedAdmission,
  type Settlement,
  settle,
  settleIn,
  type UnsettledEntry,
} from '../../../sql/ledger.ts'
import {insertQuestions, type NewQuestion} from '../../../sql/questions.ts'
import {findHead} from '../../../sql/run-heads.ts'
import type {UnmappedCells} from '../../../sql/unmapped-cells.ts'
import type {Lease} from '../recover/lease.ts'
import {LeaseLost} from '../run-endings.ts'
import type {PackWritten, SettledRow} from '../verify/written-rows.ts'
import {doubtRecordsOfOtherRuns, doubtSharedRecords} from './doubt-records.ts'
import {openStatistics} from './statistics.ts'

/**
 * The settlement of one request's batches, or of rows that needed no batch. `leave` is called just before the statement is built: its rows
 * leave the window, so that the stored cursor covers them.
 */
export type SettlementParts = {
  batches: number[]
  log: LogRow[]
  released: ReleasedAdmission[]
  kept: KeptRow[]
  opened: UnsettledEntry[]
  closed: {module: number; key: string}[]
  patched: PatchedRow[]
  /** Empty links of rows whose record is not in `kept`. */
  emptyLinks: EmptyLink[]
  tagged: {module: number; key: string; writtenAt: string | null}[]
  rewritten: NonNullable<Settlement['rewritten']>
  asked: NewQuestion[]
  marked: MarkedRow[]
  /** Rows that the CRM wrote, and rows with an unanswered update (`isSure` is false). */
  written: SettledRow[]
  /** Changes of the run's counts, by their position in the counts of the run's head (`countAt`). */
  counts: Map<number, number>
  unmapped: UnmappedCells[]
  /** Whether the settlement shows that this owner makes progress. False for batches that an earlier owner left in flight. */
  isProgress: boolean
  leave(): void
}

/**
 * A record to store for a row. `doubt` builds the unsettled entry that is stored instead if another row already has the record. `madeWith`:
 * the key of the row in whose create this row was nested. If that row is marked as unanswered, so is this row.
 */
export type KeptRow = ChainRow & {doubt?: () => UnsettledEntry; madeWith?: string}

/** The marks of a row's record. `key` and `moduleNo` name the row. */
export type MarkedRow = RecordMarks & {key: string; moduleNo: number}

export const emptySettlement = (...batches: number[]): SettlementParts => ({
  batches,
  log: [],
  released: [],
  kept: [],
  opened: [],
  closed: [],
  patched: [],
  emptyLinks: [],
  tagged: [],
  rewritten: [],
  asked: [],
  marked: [],
  written: [],
  counts: new Map(),
  unmapped: [],
  isProgress: true,
  leave: () => {},
})

/** The maximum number of settlements in one statement. With more, the statement would be so slow that the next settlements wait too long. */
const coalesced = 8

/**
 * The cursor of a pass. `counts`, `unmapped` and `emptyLinks`: filtered rows, unmapped cells and empty links up to the low-water mark that are
 * not stored yet.
 */
type Cursor = {flow: number; lowWater: number; pass?: number} & Partial<Pick<SettlementParts, 'counts' | 'unmapped' | 'emptyLinks'>>

const noCursor: Cursor = {flow: 0, lowWater: 0}

/**
 * `follow`: sets the function that returns the cursor of the pass in progress. `queueWritten`: sets the function that packs written rows for
 * the verify queue.
 */
export type Settler = {
  settle(settled: SettlementParts): Promise<void>
  follow(cursor: () => Cursor): void
  queueWritten(pack: PackWritten): void
}

export type SettlerOptions = {
  db: Pool
  hot: Hot
  run: number
  chain: number
  lease: Lease
  leaseSeconds: number
  answerSeconds: number
  log: Log
}

/**
 * Runs the settlements of a run one after another. Settlements that arrive meanwhile share a statement. Each is applied once, even if the
 * connection is lost. If a settlement fails while a pass has a cursor, all later settlements fail too. The failed rows have left the window,
 * so a later settlement would move the cursor past them.
 */
export const openSettler = (options: SettlerOptions): Settler => {
  const line: {settled: SettlementParts; resolve(): void; reject(error: unknown): void}[] = []
  let cursor: (() => Cursor) | null = null
  let pack: PackWritten = () => null
  let settleNo = 0
  const grown = openStatistics(options)
  let busy = false
  let broken: {error: unknown} | null = null

  const work = async () => {
    busy = true
    while (line.length) {
      const taken = line.splice(0, coalesced)
      if (broken) {
        for (const {reject} of taken) reject(broken.error)
        continue
      }
      for (const {settled} of taken) settled.leave()
      const {counts = new Map(), unmapped = [], emptyLinks = [], ...mark} = cursor?.() ?? noCursor
      const parts = taken.map(({settled}) => settled)
      if (counts.size || unmapped.length || emptyLinks.length) parts.push({...emptySettlement(), counts, unmapped, emptyLinks})
      try {
        const asked = parts.flatMap(part => part.asked)
        const settlement = merge(options, parts, {settleNo: settleNo + 1, cursor: mark})
        await settleOnce(options, settlement, {asked, pack})
        settleNo++
        rowsSettled(settlement.counts)
        for (const {resolve} of taken) resolve()
      } catch (error) {
        if (cursor) broken = {error}
        for (const {reject} of taken) reject(error)
      }
      grown(parts.reduce((sum, {log}) => sum + log.length, 0))
    }
    busy = false
  }

  return {
    follow: of => {
      cursor = of
    },
    queueWritten: of => {
      pack = of
    },
    settle: settled =>
      new Promise((resolve, reject) => {
        line.push({settled, resolve, reject})
        if (!busy) void work()
      }),
  }
}

export type UnpackedSettlement = Settlement & {written: SettledRow[]}

const merge = (
  {run, chain, lease, leaseSeconds, answerSeconds}: SettlerOptions,
  parts: SettlementParts[],
  at: Pick<Settlement, 'settleNo' | 'cursor'>,
): UnpackedSettlement => {
  const counts: number[] = []
  for (const part of parts) {
    for (const [index, change] of part.counts) {
      while (counts.length <= index) counts.push(0)
      counts[index]! += change
    }
  }
  return {
    run,
    chain,
    fence: lease.fence,
    batches: parts.flatMap(({batches}) => batches),
    log: parts.flatMap(({log}) => log),
    released: parts.flatMap(({released}) => released),
    kept: parts.flatMap(({kept}) => kept),
    opened: parts.flatMap(({opened: options}) => options),
    closed: parts.flatMap(({closed}) => closed),
    patched: parts.flatMap(({patched}) => patched),
    emptyLinks: parts.flatMap(({emptyLinks}) => emptyLinks),
    tagged: parts.flatMap(({tagged}) => tagged),
    rewritten: parts.flatMap(({rewritten}) => rewritten),
    unmapped: parts.flatMap(({unmapped}) => unmapped),
    marked: [...new Map(parts.flatMap(({marked}) => marked).map(one => [`${one.module} ${one.recordId}`, one])).values()],
    written: parts.flatMap(({written}) => written),
    counts,
    isProgress: parts.some(({isProgress}) => isProgress),
    leaseSeconds,
    answerSeconds,
    ...at,
  }
}

type SettleOnceInput = {asked: NewQuestion[]; pack: PackWritten}

/**
 * Commits the settlement. Retries if the result is unknown, the failure is temporary, or two rows have the same record. The lease limits
 * the retries: after its loss, nothing can be committed.
 */
const settleOnce = async (options: SettlerOptions, settlement: UnpackedSettlement, {asked, pack}: SettleOnceInput): Promise<void> => {
  const {db, hot, lease, log} = options
  for (let delayMs = 50; ; delayMs = Math.min(delayMs * 2, 1_000)) {
    const since = performance.now()
    try {
      await doubtRecordsOfOtherRuns(options, settlement)
      settlement.queued = pack(settlement.written)
      lease.noteHeld(await (asked.length ? settleWithQuestions(db, settlement, asked) : settle(hot, settlement)))
      return lease.renewedSince(since)
    } catch (error) {
      lease.lost.throwIfAborted()
      const state = sqlStateOf(error)
      if (state === GATE_SHUT) return await assertSettled(db, settlement, error)
      if (state === '23505') await doubtSharedRecords(db, settlement)
      else if (isFateUnknown(error) || isPassing(error)) log.warn({err: error}, 'retrying settlement')
      else throw error
    }
    await sleep(delayMs, undefined, {signal: lease.lost})
  }
}

const settleWithQuestions = (db: Pool, settlement: Settlement, asked: NewQuestion[]) =>
  db.transaction(async tx => {
    const held = await settleIn(tx, settlement)
    await insertQuestions(tx, {run: settlement.run, asked})
    return held
  })

/** Returns if the settlement was committed and only its answer was lost. Throws in any other case, usually because another owner took the run. */
const assertSettled = async (db: Pool, {run, fence, settleNo}: Settlement, cause: unknown) => {
  const head = await findHead(db, run)
  if (head?.fence === fence && head.settleNo === settleNo) return
  if (head?.fence === fence && head.leaseLive) throw new Error('A settlement was refused under a live lease', {cause})
  throw new LeaseLost('Another owner took the run')
}
