import {HOW} from '../../../sql/chain-rows.ts'
import type {Tx} from '../../../sql/database.ts'
import {
  type AdmittedRow,
  EXTERNAL_STEP_CODES,
  type ExternalRowState,
  listExternalRowStates,
  listExternalSends,
  moveHead,
  putAdmissions,
  putSend,
  raisePatches,
} from '../../../sql/external-ledger.ts'
import type {ExternalRun} from '../../../sql/external-runs.ts'
import {type RunStop, writeStop} from '../../../sql/run-heads.ts'
import {outcomeNo} from '../../../sql/run-log.ts'
import {leaseSeconds} from '../lease-seconds.ts'
import {limitStop} from '../stop.ts'

/**
 * The rows of one item of a request, which are admitted together or not at all: one row, or all subform rows of one parent. `at`: the index of
 * the item.
 */
export type AdmissionUnit = {at: number; parent: string | null; rows: UnitRow[]}
/**
 * `target`: the record to update, or the parent of a subform row; null for a create. `hasUniqueKey`: whether the payload has a unique value by which
 * a lost create can be found again. `digests`: the digests of all unique values in the payload, from `digestUniqueKeys`.
 */
type UnitRow = {key: string; number: number | null; target: string | null; hasUniqueKey: boolean; digests: Buffer}

export type ExternalWriteKind = 'create' | 'update' | 'replace'

/**
 * `fresh`: the row is not metered yet. `patch`: the update targets a record that the row created in this run; patches have their own attempt numbers.
 */
export type AdmittedUnit = Omit<AdmissionUnit, 'rows'> & {rows: (UnitRow & {attempt: number; fresh: boolean; patch: boolean})[]}

export type Admission = {
  batch: number | null
  admitted: AdmittedUnit[]
  /** Units that are not sent, with the reason. `recordId`: the record that the row already has. */
  decided: {at: number; why: 'parent' | 'sending' | 'has_record' | 'stopped'; recordId?: string}[]
  /**
   * Rows of units that are not sent, whose record an earlier run of the chain created or claimed. This run has neither sent these rows nor logged
   * them as inherited.
   */
  inherited: InheritedUnitRow[]
  /** Units beyond the row limit. Rows in flight may still be released, which makes room for these units. */
  left: AdmissionUnit[]
  stop: RunStop | null
}

/** `before`: the state under which the run counts the row so far. */
export type InheritedUnitRow = {key: string; number: number | null; recordId: string; before: ExternalRowState}

type AdmitUnitsInput = {
  write: string
  module: number
  flow: number | null
  kind: ExternalWriteKind
  units: AdmissionUnit[]
  answerSeconds: number
}

/**
 * Admits units in the given order, as far as the run's row limit allows. Meters their rows and stores the intent to send them (T1). If no
 * unit fits and no batch is in flight, writes the stop of the run. The caller must have locked the run.
 */
export const admitUnits = async (
  tx: Tx,
  run: ExternalRun,
  {write, module, flow, kind, units, answerSeconds}: AdmitUnitsInput,
): Promise<Admission> => {
  const chain = run.chainNo ?? run.no
  const keys = units.flatMap(({rows}) => rows.map(({key}) => key))
  const rowStates = new Map((await listExternalRowStates(tx, {run: run.no, chain, module, keys})).map(one => [one.key, one]))
  const decided: Admission['decided'] = []
  const inherited: InheritedUnitRow[] = []
  const admitted: Admission['admitted'] = []
  let room = run.rowsLimit - run.counted
  let left: AdmissionUnit[] = []
  for (const [n, unit] of units.entries()) {
    const known = unit.rows.map(({key}) => rowStates.get(key)!)
    const end = decideUnsent(unit, known, kind)
    if (end) {
      decided.push(end)
      const before = known[0]!
      // A row that the engine only reported, as failed or skipped, was never sent.
      if (end.recordId && before.inherited && (before.outcome === null || (before.lastAttempt === 0 && before.outcome !== INHERITED)))
        inherited.push({key: before.key, number: unit.rows[0]!.number, recordId: end.recordId, before})
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
    if (left.length === 0 || (await listExternalSends(tx, run.no)).length > 0)
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
  await putSend(tx, {run: run.no, batch, fence: run.fence, module, flow, kind: EXTERNAL_STEP_CODES[kind], write, rows, answerSeconds})
  await moveHead(tx, {run: run.no, fresh, leaseSeconds: Math.max(leaseSeconds, answerSeconds + 30)})
  return {batch, admitted, decided, inherited, left, stop: null}
}

const [CREATED, INHERITED] = [outcomeNo('created'), outcomeNo('inherited')]

const stepOf = ({target}: UnitRow, {counted, outcome, recordId, lastAttempt, lastPatch}: ExternalRowState, kind: ExternalWriteKind) => {
  const patch = kind === 'update' && counted && outcome === CREATED && recordId === target
  return {patch, attempt: 1 + (patch ? lastPatch : lastAttempt), fresh: !counted}
}

/**
 * Returns why a unit is not sent, or null if the unit is sent. A unit is not sent if a row belongs to another parent or is in flight, or if a create
 * already has a created or claimed record.
 */
const decideUnsent = (
  {at, parent}: AdmissionUnit,
  known: ExternalRowState[],
  kind: ExternalWriteKind,
): Admission['decided'][number] | null => {
  if (known.some(row => row.parent !== null && row.parent !== parent)) return {at, why: 'parent'}
  if (known.some(({sending}) => sending)) return {at, why: 'sending'}
  const [row] = known
  if (kind === 'create' && row?.recordId && hasMade(row)) return {at, why: 'has_record', recordId: row.recordId}
  return null
}

/** Whether the row created or claimed its record. */
export const hasMade = ({how}: ExternalRowState) => how === HOW.made || how === HOW.taken
