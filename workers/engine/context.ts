import type {Config} from '../../shared/config.ts'
import type {Share} from '../../shared/crm/budget.ts'
import type {Connection} from '../../shared/crm/crm.ts'
import type {Snapshot} from '../../shared/flows/snapshot.ts'
import type {Log} from '../../shared/log.ts'
import type {Storage} from '../../shared/storage.ts'
import type {Hot, Pool} from '../../sql/database.ts'
import type {Run} from '../../sql/runs.ts'
import type {Lease} from './lease.ts'
import type {Settler} from './settler.ts'

/** What every step of one run has at hand. */
export type Context = Offline & {connection: Connection; slots: Share}

/** As long as the CRM is not spoken to. */
export type Offline = Held & {
  /** When the chain's first run was authorised, in ms by this process's clock: a record made before is not the chain's. */
  chainStart: number
  snapshot: Snapshot
}

/** As long as nothing is known of the run but its ledger: enough to tell what was in flight, and to close it. */
export type Held = {
  config: Config
  db: Pool
  hot: Hot
  storage: Storage
  run: Run
  chain: number
  lease: Lease
  settler: Settler
  /** Given to each batch in turn; a new owner begins past the last one's. */
  nextBatch(): number
  /** Aborts when the lease is lost or the process is asked to stop. */
  signal: AbortSignal
  log: Log
}
