import type {Config} from '../../shared/config.ts'
import type {Connection} from '../../shared/crm/crm.ts'
import type {SlotShare} from '../../shared/crm/limits/budget.ts'
import type {Snapshot} from '../../shared/mapping/flows/snapshot.ts'
import type {IdempotencyValueOf} from '../../shared/runs/idempotency-values.ts'
import type {Storage} from '../../shared/storage/storage.ts'
import type {Log} from '../../shared/telemetry/log.ts'
import type {Hot, Pool} from '../../sql/database.ts'
import type {Run} from '../../sql/runs.ts'
import type {Canary} from './canary/canary.ts'
import type {Expressions} from './compose/expressions.ts'
import type {Lookups} from './compose/lookups.ts'
import type {ValueStore} from './dry-run/plan-values.ts'
import type {ImageStore} from './images/before-images.ts'
import type {CrmClock} from './recover/crm-clock.ts'
import type {LateUpdates} from './recover/late-updates.ts'
import type {Lease} from './recover/lease.ts'
import type {OpenPlan} from './sealed-plan/open-plan.ts'
import type {Intend} from './send/intents.ts'
import type {Settler} from './settle/settler.ts'

/** State and services that all steps of one run share. */
export type Context = OfflineContext & {
  connection: Connection
  slots: SlotShare
  expressions: Expressions
  lookups: Lookups
  values: ValueStore
  /** Null: the run stores no before images. */
  images: ImageStore | null
  /** Null: the run applies no sealed plan. */
  plan: OpenPlan | null
  /** Null: the run has no canary, or none is left to pass. Rows then do not wait for a verification. */
  canary: Canary | null
  lateUpdates: LateUpdates
  crmClock: CrmClock
  /** Returns the idempotency value of a row. Null if no module of the run has an idempotency field. */
  idempotencyValueOf: IdempotencyValueOf | null
  /** Whether reads show what the run wrote. Such reads go on while writes are paused. `afterStop`: the run stopped, so they go on in any case. */
  readsResults?: true | 'afterStop'
  /** The number of consecutive single-record requests that the CRM refused as a whole. */
  refusedSingles: {count: number}
}

/** The part of the context that needs no CRM connection. */
export type OfflineContext = LedgerContext & {
  snapshot: Snapshot
}

/** The part of the context that needs only the run's ledger. It is enough to settle batches in flight and to close the run. */
export type LedgerContext = {
  config: Config
  db: Pool
  hot: Hot
  storage: Storage
  run: Run
  /** The retry chain in which the results of the run's rows are stored. */
  chain: number
  /** The retry chain that the run continues, or null. A dry run stores its rows under a separate chain, so its `chain` differs. */
  retried: number | null
  planned: {count: number}
  lease: Lease
  settler: Settler
  /** Stores a batch's intent, in one statement with the intents of other batches that are ready. */
  intend: Intend
  /** Returns the next batch number. A new owner starts after the last number of the previous owner. */
  nextBatch(): number
  /** Aborts when the lease is lost or the process is asked to stop. */
  signal: AbortSignal
  log: Log
}

/** Returns a context whose waits and calls also end when `signal` aborts. */
export const withSignal = (ctx: Context, signal: AbortSignal): Context => ({
  ...ctx,
  signal: AbortSignal.any([ctx.signal, signal]),
  lease: {...ctx.lease, lost: AbortSignal.any([ctx.lease.lost, signal])},
})
