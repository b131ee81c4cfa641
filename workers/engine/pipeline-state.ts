import type {BulkBatches} from './bulk/bulk-batches.ts'
import {type ChangeSignal, openChangeSignal} from './change-signal.ts'
import type {Context} from './context.ts'
import type {MatchFailure} from './match/match-rows.ts'
import type {CompiledFlow, ImportRow, RowFailure, StepKind} from './model.ts'
import type {RowWindow} from './read/window.ts'
import type {InheritedRow} from './recover/inherited-rows.ts'
import type {UnansweredCreates} from './recover/unanswered-creates.ts'
import {openRowLocks, type RowLocks} from './row-locks.ts'
import type {Op} from './settle/verdict.ts'

export type RowPipeline = {
  ctx: Context
  flow: CompiledFlow
  window: RowWindow
  locks: RowLocks
  partBatches: Record<StepKind, Op[]>
  /** The rows that wait for a file of a bulk job. Null: rows are written by record calls. */
  bulk: BulkBatches | null
  underWay: Set<Promise<void>>
  /** Rows that wait to be sent again. They are already counted towards the row limit. */
  resending: Set<ImportRow>
  unanswered: UnansweredCreates
  inFlight: Set<Promise<void>>
  /** The number of batches that wait for a slot, are in flight or are being settled. */
  openBatches: number
  /** Operations that wait until the canary of their kind is verified. */
  behindCanary: Record<StepKind, Op[]>
  /** The number of small batches still to send after unanswered creates without a unique key. */
  smallBatchesLeft: number
  closing: AbortController
  /** The number of consecutive batches without any answer from the CRM. */
  silentBatches: number
  change: ChangeSignal
  failure: {error: unknown} | null
}

export const emptyPipeline = (): Omit<RowPipeline, 'ctx' | 'flow' | 'window' | 'bulk' | 'unanswered'> => ({
  locks: openRowLocks(),
  partBatches: {create: [], update: [], delete: []},
  underWay: new Set(),
  resending: new Set(),
  inFlight: new Set(),
  openBatches: 0,
  behindCanary: {create: [], update: [], delete: []},
  smallBatchesLeft: 0,
  closing: new AbortController(),
  silentBatches: 0,
  change: openChangeSignal(),
  failure: null,
})

/**
 * A chunk that is ready to be planned. `inherited`: rows that an earlier run of the chain resolved. `unmatched`: rows whose match value the
 * CRM cannot search for.
 */
export type PreparedChunk = {rows: ImportRow[]; failures: RowFailure[]; unmatched: MatchFailure[]; inherited: InheritedRow[]}
