import type {Pool} from '../../sql/database.ts'
import {findSubscription} from '../../sql/subscriptions.ts'
import {nullWhereGone} from './payment-failure.ts'
import type {PaymentProvider} from './payment-provider.ts'
import {idOf, isOver, readSubscription} from './subscription.ts'

type Tools = {db: Pool; payment: PaymentProvider}

/** The card that is charged while nobody is there: the subscription's own, else the customer's. Null where there is none. */
export const readDefaultCard = async (tools: Tools, {org, customer}: {org: string; customer: string}): Promise<string | null> => {
  const known = await findSubscription(tools.db, org)
  const read = known && !isOver(known) ? await readSubscription(tools, known.id) : null
  if (read && !isOver(read) && read.card !== null) return read.card
  const found = await tools.payment.ask('customer', stripe => stripe.customers.retrieve(customer)).catch(nullWhereGone)
  return !found || found.deleted ? null : idOf(found.invoice_settings.default_payment_method)
}
