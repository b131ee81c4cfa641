import type {PaymentProvider} from '../shared/billing/payment-provider.ts'
import type {Config} from '../shared/config.ts'
import type {Budget} from '../shared/crm/budget.ts'
import type {Crm} from '../shared/crm/crm.ts'
import type {Log} from '../shared/log.ts'
import type {Queue} from '../shared/queue.ts'
import type {Storage} from '../shared/storage.ts'
import type {Hot, Pool} from '../sql/database.ts'

/** The outside world as a worker is handed it, built once per process. `drain` aborts when the process is asked to stop. */
export type Tools = {
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
