import {HOW} from '../../sql/chain-rows.ts'
import type {Tx} from '../../sql/database.ts'
import {
  type AdmittedRow,
  KINDS,
  listOutsideSends,
  listRowStandings,
  moveHead,
  putAdmissions,
  putSend,
  type RowStanding,
  raisePatches,
} from '../../sql/outside-ledger.ts'
import type {StandingRun} from '../../sql/outside-runs.ts'
import {type Stop, writeStop} from '../../sql/run-heads.ts'
import {outcomeNo} from '../../sql/run-log.ts'
import {leaseSeconds} from '../runs/lease-seconds.ts'
import {limitStop} from '../runs/stop.ts'

/** Rows that are written together or not at all: one record, or all the rows of one parent. `at`: the item of the request. */
export type Unit = {at: number; parent: string | null; rows: UnitRow[]}
/** `target`: the record to be updated, or the parent. `witness`: a lost create can be recognised by a unique value it carries. */
type UnitRow = {key: string; number: number | null; target: string | null; witness: boolean}

export type WriteKind = 'create' | 'update' | 'replace'

/** `patch`: the row made the record in this run, so its update is no further attempt of that and counts its own. */
export type AdmittedUnit = Omit<Unit, 'rows'> & {rows: (UnitRow & {attempt: number; fresh: boolean; patch: boolean})[]}

export type Admission = {
  /** Null where nothing of the units goes out. */
  batch: number | null
  admitted: AdmittedUnit[]
  /** Units that are done without being sent. */
  decided: {at: number; why: 'parent' | 'sending' | 'has_record' | 'stopped'; recordId?: string}[]
  /** Decided rows whose record is from an earlier run of the chain, and which this run has not logged. */
  inherited: InheritedRow[]
  /** Units the limit leaves no room for while rows in flight may yet be released. */
  left: Unit[]
  stop: Stop | null
}

export type InheritedRow = {key: string; number: number | null; recordId: string}

type Asked = {write: string; module: number; flow: number | null; kind: WriteKind; units: Unit[]; answerSeconds: number}

/**
 * Meters the rows and keeps the intent to send them, in the order given, as far as the run's limit leaves room. The stop is written
 * only when there is no room and nothing in flight. The run is locked.
 */
export const admitUnits = async (
  tx: Tx,
  run: StandingRun,
  {write, module, flow, kind, units, answerSeconds}: Asked,
): Promise<Admission> => {
  const chain = run.chainNo ?? run.no
  const keys = units.flatMap(({rows}) => rows.map(({key}) => key))
  const standings = new Map((await listRowStandings(tx, {run: run.no, chain, module, keys})).map(one => [one.key, one]))
  const decided: Admission['decided'] = []
  const inherited: InheritedRow[] = []
  const admitted: Admission['admitted'] = []
  let room = run.rowsLimit - run.counted
  let left: Unit[] = []
  for (const [n, unit] of units.entries()) {
    const known = unit.rows.map(({key}) => standings.get(key)!)
    const end = endUnsent(unit, known, kind)
    if (end) {
      decided.push(end)
      if (end.recordId && known[0]!.inherited && known[0]!.outcome === null)
        inherited.push({key: known[0]!.key, number: unit.rows[0]!.number, recordId: end.recordId})
      continue
    }
    const fresh = known.filter(({counted}) => !counted).length
    if (fresh > room) {
      left = units.slice(n)
      break
    }
    room -= fresh
    admitted.push({...unit, rows: unit.rows.map((row, at) => ({...row, ...stepOf(row, known[at]!, kind)}))})
  }
  if (admitted.length === 0) {
    if (left.length === 0 || (await listOutsideSends(tx, run.no)).length > 0)
      return {batch: null, admitted, decided, inherited, left, stop: null}
    const stop = limitStop(run)
    await writeStop(tx, {run: run.no, stop})
    const stopped = left.map(({at}) => ({at, why: 'stopped' as const}))
    return {batch: null, admitted, decided: [...decided, ...stopped], inherited, left: [], stop}
  }
  const rows = admitted.flatMap(({at, parent, rows}) => rows.map((row): AdmittedRow & {at: number} => ({...row, at, parent})))
  const fresh = run.rowsLimit - run.counted - room
  await putAdmissions(tx, {run: run.no, module, rows: rows.filter(({patch}) => !patch)})
  const patched = rows.filter(({patch}) => patch).map(({key}) => key)
  if (patched.length) await raisePatches(tx, {run: run.no, module, keys: patched})
  const batch = run.nextBatch
  await putSend(tx, {run: run.no, batch, fence: run.fence, module, flow, kind: KINDS[kind], write, rows, answerSeconds})
  await moveHead(tx, {run: run.no, fresh, leaseSeconds: Math.max(leaseSeconds, answerSeconds + 30)})
  return {batch, admitted, decided, inherited, left, stop: null}
}

const CREATED = outcomeNo('created')

const stepOf = ({target}: UnitRow, {counted, outcome, recordId, lastAttempt, lastPatch}: RowStanding, kind: WriteKind) => {
  const patch = kind === 'update' && counted && outcome === CREATED && recordId === target
  return {patch, attempt: 1 + (patch ? lastPatch : lastAttempt), fresh: !counted}
}

/** A unit that is not to be sent: a row has another parent, is in flight, or was created before. */
const endUnsent = ({at, parent}: Unit, known: RowStanding[], kind: WriteKind): Admission['decided'][number] | null => {
  if (known.some(row => row.parent !== null && row.parent !== parent)) return {at, why: 'parent'}
  if (known.some(({sending}) => sending)) return {at, why: 'sending'}
  const [row] = known
  if (kind === 'create' && row?.recordId && (row.how === HOW.made || row.how === HOW.taken))
    return {at, why: 'has_record', recordId: row.recordId}
  return null
}
