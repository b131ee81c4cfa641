import type {PaymentProvider} from '../shared/billing/payment-provider.ts'
import type {Config} from '../shared/config.ts'
import type {Crm} from '../shared/crm/crm.ts'
import type {Budget} from '../shared/crm/limits/budget.ts'
import type {Queue} from '../shared/queue.ts'
import type {Storage} from '../shared/storage/storage.ts'
import type {Log} from '../shared/telemetry/log.ts'
import type {Hot, Pool} from '../sql/database.ts'

/** The services that a worker uses, built once per process. `drain` aborts when the process is asked to stop. */
export type WorkerDeps = {
  config: Config
  db: Pool
  hot: Hot
  queue: Queue
  storage: Storage
  crm: Crm
  payment: PaymentProvider
  budget: Budget
  log: Log
  drain: AbortSignal
}
