import type {Pool} from '../../sql/database.ts'
import {findSubscription} from '../../sql/subscriptions.ts'
import {nullWhereGone} from './payment-failure.ts'
import type {PaymentProvider} from './payment-provider.ts'
import {idOf, isOver, readSubscription} from './subscription.ts'

type DefaultCardDeps = {db: Pool; payment: PaymentProvider}

/** Returns the id of the card for payments without a user present: the card of the subscription, or else the customer's default card, or null. */
export const readDefaultCard = async (deps: DefaultCardDeps, {org, customer}: {org: string; customer: string}): Promise<string | null> => {
  const known = await findSubscription(deps.db, org)
  const read = known && !isOver(known) ? await readSubscription(deps, known.id) : null
  if (read && !isOver(read) && read.card !== null) return read.card
  const found = await deps.payment.ask('customer', stripe => stripe.customers.retrieve(customer)).catch(nullWhereGone)
  return !found || found.deleted ? null : idOf(found.invoice_settings.default_payment_method)
}
