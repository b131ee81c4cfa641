import {setTimeout as sleep} from 'node:timers/promises'
import type {Log} from '../../shared/log.ts'
import {rowsSettled} from '../../shared/metrics/rows.ts'
import {HOW, listHolders} from '../../sql/chain-rows.ts'
import {type Hot, isFateUnknown, isPassing, type Pool, sqlStateOf} from '../../sql/database.ts'
import {type ChainRow, GATE_SHUT, type LogRow, type OpenQuestion, type Settlement, settle, settleIn} from '../../sql/ledger.ts'
import {type Asking, insertQuestions} from '../../sql/questions.ts'
import {findHead} from '../../sql/run-heads.ts'
import {countAt, outcomeNo} from '../../sql/run-log.ts'
import {LeaseLost} from './ending.ts'
import type {Lease} from './lease.ts'
import {openStatistics} from './statistics.ts'

/** What one batch (or some rows that needed none) came to. `leave` runs as the statement is built: its rows are final by then. */
export type Settled = {
  batch: number | null
  log: LogRow[]
  released: {module: number; key: string}[]
  kept: KeptRow[]
  opened: OpenQuestion[]
  closed: {module: number; key: string}[]
  /** Rows that have been patched. */
  patched: {module: number; key: string}[]
  /** Rows that wait for a person. */
  asked: Asking[]
  counts: Map<number, number>
  /** False for what an earlier owner left in flight: telling it is no sign that this one gets further. */
  isProgress: boolean
  leave(): void
}

/** `doubt` builds the open question that is stored instead if another row already holds the record. */
type KeptRow = ChainRow & {doubt?: () => OpenQuestion}

export const nothingSettled = (batch: number | null): Settled => ({
  batch,
  log: [],
  released: [],
  kept: [],
  opened: [],
  closed: [],
  patched: [],
  asked: [],
  counts: new Map(),
  isProgress: true,
  leave: () => {},
})

/** At most this many batches in one statement: beyond it a T2 takes long enough to make the next ones wait. */
const coalesced = 8

/** `counts`: of rows below the mark that nothing else is said of; each is told once. */
type Cursor = {flow: number; lowWater: number; pass?: number; counts?: Map<number, number>}

const noCursor: Cursor = {flow: 0, lowWater: 0}

export type Settler = {settle(settled: Settled): Promise<void>; follow(cursor: () => Cursor): void}

type Opened = {db: Pool; hot: Hot; run: number; chain: number; lease: Lease; leaseSeconds: number; answerSeconds: number; log: Log}

/**
 * Runs the T2s of a run one after another, answers that arrive meanwhile together. Each happens once, whatever becomes of the
 * connection. While a cursor is followed one that fails is the last: its rows have left the window, so a later one would move the
 * cursor past them.
 */
export const openSettler = (opened: Opened): Settler => {
  const line: {settled: Settled; resolve(): void; reject(error: unknown): void}[] = []
  let cursor: (() => Cursor) | null = null
  let settleNo = 0
  const grown = openStatistics(opened)
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
      const {counts, ...mark} = cursor?.() ?? noCursor
      const parts = taken.map(({settled}) => settled)
      if (counts) parts.push({...nothingSettled(null), counts})
      try {
        const asked = parts.flatMap(part => part.asked)
        const settlement = merge(opened, parts, {settleNo: settleNo + 1, cursor: mark})
        await settleOnce(opened, settlement, asked)
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
    settle: settled =>
      new Promise((resolve, reject) => {
        line.push({settled, resolve, reject})
        if (!busy) void work()
      }),
  }
}

const merge = (
  {run, chain, lease, leaseSeconds, answerSeconds}: Opened,
  parts: Settled[],
  at: Pick<Settlement, 'settleNo' | 'cursor'>,
): Settlement => {
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
    batches: parts.flatMap(({batch}) => (batch === null ? [] : [batch])),
    log: parts.flatMap(({log}) => log),
    released: parts.flatMap(({released}) => released),
    kept: parts.flatMap(({kept}) => kept),
    opened: parts.flatMap(({opened}) => opened),
    closed: parts.flatMap(({closed}) => closed),
    patched: parts.flatMap(({patched}) => patched),
    counts,
    isProgress: parts.some(({isProgress}) => isProgress),
    leaseSeconds,
    answerSeconds,
    ...at,
  }
}

/** Again until its fate is known. Bounded by the lease: once that is lost nothing can be committed any more. */
const settleOnce = async (opened: Opened, settlement: Settlement, asked: Asking[]): Promise<void> => {
  const {db, hot, lease, log} = opened
  for (let delayMs = 50; ; delayMs = Math.min(delayMs * 2, 1_000)) {
    const since = performance.now()
    try {
      await (asked.length ? settleAsking(db, settlement, asked) : settle(hot, settlement))
      return lease.renewedSince(since)
    } catch (error) {
      lease.lost.throwIfAborted()
      const state = sqlStateOf(error)
      if (state === GATE_SHUT) return await assertSettled(db, settlement, error)
      if (state === '23505') await doubtHeld(db, settlement)
      else if (isFateUnknown(error) || isPassing(error)) log.warn({err: error}, 'settle again')
      else throw error
    }
    await sleep(delayMs, undefined, {signal: lease.lost})
  }
}

/** What rows wait for is written down with them, or not at all. */
const settleAsking = (db: Pool, settlement: Settlement, asked: Asking[]) =>
  db.transaction(async tx => {
    await settleIn(tx, settlement)
    await insertQuestions(tx, {run: settlement.run, asked})
  })

/** The gate is shut because this very statement was committed before its answer was lost, or because the run is no longer ours. */
const assertSettled = async (db: Pool, {run, fence, settleNo}: Settlement, cause: unknown) => {
  const head = await findHead(db, run)
  if (head?.fence === fence && head.settleNo === settleNo) return
  if (head?.fence === fence && head.leaseLive) throw new Error('A settlement was refused under a live lease', {cause})
  throw new LeaseLost('Another owner took the run')
}

const [CREATED, UNANSWERED] = [outcomeNo('created'), outcomeNo('unanswered')]

/**
 * Two rows of a chain never have made one record. The CRM said that it made the later row's record without saying which: that create is
 * unanswered, `RECORD_HELD`. Source: the specification's CRM error object, `unanswered`.
 */
const doubtHeld = async (db: Pool, settlement: Settlement) => {
  const {chain, log, counts} = settlement
  const kept: KeptRow[] = settlement.kept
  const made = kept.filter(({how}) => how === HOW.made || how === HOW.taken)
  const holders = new Map<string, string>()
  for (const module of new Set(made.map(({module}) => module))) {
    const records = made.filter(row => row.module === module).map(({recordId}) => recordId)
    for (const {recordId, key} of await listHolders(db, {chain, module, records})) holders.set(`${module} ${recordId}`, key)
  }
  const losers = made.filter(({module, recordId, key}) => {
    const holder = holders.get(`${module} ${recordId}`)
    if (holder === undefined) holders.set(`${module} ${recordId}`, key)
    return holder !== undefined && holder !== key
  })
  if (losers.length === 0) throw new Error('A record is held twice and its holder cannot be found')
  for (const loser of losers) {
    kept.splice(kept.indexOf(loser), 1)
    const entry = log.findLast(({key, module, outcome}) => key === loser.key && module === loser.module && outcome === CREATED)!
    const message = `The CRM named record ${loser.recordId}, which another row of this import made. Look for this row's record in the CRM`
    Object.assign(entry, {outcome: UNANSWERED, code: 'RECORD_HELD', message, recordId: null})
    settlement.closed = settlement.closed.filter(({key, module}) => key !== loser.key || module !== loser.module)
    if (loser.doubt) settlement.opened.push(loser.doubt())
    for (const [outcome, change] of [
      ['created', -1],
      ['unanswered', 1],
    ] as const) {
      const index = countAt(loser.module, outcome)
      while (counts.length <= index) counts.push(0)
      counts[index]! += change
    }
  }
}
