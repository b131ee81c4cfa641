import type {Config} from '../../shared/config.ts'
import type {Share} from '../../shared/crm/budget.ts'
import type {Connection} from '../../shared/crm/crm.ts'
import type {Snapshot} from '../../shared/flows/snapshot.ts'
import type {Log} from '../../shared/log.ts'
import type {Storage} from '../../shared/storage.ts'
import type {Hot, Pool} from '../../sql/database.ts'
import type {Run} from '../../sql/runs.ts'
import type {CrmClock} from './crm-clock.ts'
import type {Expressions} from './expressions.ts'
import type {Intend} from './intents.ts'
import type {LateUpdates} from './late-updates.ts'
import type {Lease} from './lease.ts'
import type {Lookups} from './lookups.ts'
import type {ValueStore} from './plan-values.ts'
import type {Settler} from './settler.ts'

/** What every step of one run has at hand. */
export type Context = Offline & {
  connection: Connection
  slots: Share
  expressions: Expressions
  lookups: Lookups
  values: ValueStore
  lateUpdates: LateUpdates
  crmClock: CrmClock
  /** Consecutive requests of a single record that the CRM refused as a whole. */
  refusedSingles: {count: number}
}

/** As long as the CRM is not spoken to. */
export type Offline = Held & {
  snapshot: Snapshot
}

/** As long as nothing is known of the run but its ledger: enough to tell what was in flight, and to close it. */
export type Held = {
  config: Config
  db: Pool
  hot: Hot
  storage: Storage
  run: Run
  /** Where what the run's rows come to is kept. */
  chain: number
  /** The chain the run carries on, which is its own unless it is a dry run; null for a run that carries none on. */
  retried: number | null
  /** Rows a dry run has planned. */
  planned: {count: number}
  lease: Lease
  settler: Settler
  /** Keeps a batch's intent, with those of others that are ready. */
  intend: Intend
  /** Given to each batch in turn; a new owner begins past the last one's. */
  nextBatch(): number
  /** Aborts when the lease is lost or the process is asked to stop. */
  signal: AbortSignal
  log: Log
}
