import {type Held, keepHeld} from '../../shared/billing/lease.ts'
import {findChangeAuthor, settleChanges} from '../../shared/billing/plan-change-settle.ts'
import {correctEarlyEnd} from '../../shared/billing/plan-end.ts'
import {projectSubscription} from '../../shared/billing/project.ts'
import {findLiveSubscription, isOver, isUnpaid, type ReadSubscription, readSubscription} from '../../shared/billing/subscription.ts'
import {findBillingAccount} from '../../sql/billing-accounts.ts'
import type {Tx} from '../../sql/database.ts'
import {findSubscription} from '../../sql/subscriptions.ts'
import type {Tools} from '../tools.ts'

/** The org's subscription as the provider has it, asked once for all events that came before it was asked. */
export type Reading = {
  current(): Promise<ReadSubscription | null>
  /** Writes what was read, unless that was done and committed before. */
  write(tx: Tx): Promise<void>
  /** What was written is committed. */
  isWritten(): void
  /** What was read is no longer the newest: something was asked of the provider, or more events have come. */
  forget(): void
}

export const openReading = (tools: Tools, held: Held): Reading => {
  let read: Promise<ReadSubscription | null> | null = null
  let written: Promise<ReadSubscription | null> | null = null
  const forget = () => {
    read = null
  }
  const current = async () => {
    read ??= settleAndRead(tools, held)
    return read.catch(error => {
      forget()
      throw error
    })
  }
  return {
    current,
    forget,
    async write(tx) {
      const found = await current()
      if (read !== written) await writeRead(tx, held, found)
    },
    isWritten() {
      written = read
    },
  }
}

/** Settles open changes first, because they change what is read. A cancellation that the provider dated too early is corrected. */
const settleAndRead = async (tools: Tools, held: Held) => {
  await settleChanges(tools, held)
  const read = await readCurrent(tools, held.org)
  if (!read?.endsEarly) return read
  await keepHeld(tools.db, held)
  return correctEarlyEnd(tools, read)
}

/** By whoever asked for what is read, where somebody of the org did; else by the payment provider. */
const writeRead = async (tx: Tx, held: Held, read: ReadSubscription | null): Promise<void> => {
  const {org} = held
  const asker = read && (await findChangeAuthor(tx, {org, read}))
  await projectSubscription(tx, held, read, asker ?? {org, via: 'payment'})
}

/** The one we know, unless it is over, or was never paid for, and its customer has another; null where there is none, or none the provider still knows. */
const readCurrent = async (tools: Pick<Tools, 'db' | 'payment'>, org: string): Promise<ReadSubscription | null> => {
  const known = await findSubscription(tools.db, org)
  const own = known && (await readSubscription(tools, known.id))
  if (own && !isOver(own) && !isUnpaid(own)) return own
  const customer = (await findBillingAccount(tools.db, org))?.customer
  const live = customer ? await findLiveSubscription(tools, {customer}) : null
  // A list does not carry all that is read of a single one.
  return live ? readSubscription(tools, live.id) : own
}
