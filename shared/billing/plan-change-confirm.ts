import {findConfirmingChange, setChangeState} from '../../sql/plan-changes.ts'
import {assertHeld, type BillingLease, keepLease} from './lease.ts'
import {PaymentFailure} from './payment-failure.ts'
import {executeChange, type PlanChangeDeps, type PlanChangeOutcome} from './plan-change-run.ts'
import {readTermsOf, type Terms} from './plan-change-terms.ts'
import {idOf, isoOf} from './subscription.ts'

export type Confirmation = {url: string; expiresAt: string}

/** Returns the page of the payment that the customer must confirm. Null if no payment waits, or if the provider names no page. */
export const confirmationOf = ({found}: Terms): Confirmation | null => {
  const {pending_update: pending, latest_invoice: invoice} = found
  if (pending === null || invoice === null || typeof invoice === 'string' || !invoice.hosted_invoice_url) return null
  return {url: invoice.hosted_invoice_url, expiresAt: isoOf(pending.expires_at)!}
}

/**
 * Finishes a change that waits for a confirmed payment. If the payment was made, completes the change and returns the outcome, which may be `partial`
 * or `unknown`. If the customer abandoned the payment, marks the change as declined; the old plan stays. `givesUp`: closes the page of the waiting
 * payment first, because the org requests another change or its billing ends.
 */
export const settleConfirming = async (
  deps: PlanChangeDeps,
  billingLease: BillingLease,
  {givesUp}: {givesUp: boolean},
): Promise<PlanChangeOutcome | null> => {
  const change = await findConfirmingChange(deps.db, billingLease.org)
  if (!change) return null
  let terms = await readTermsOf(deps, change.params.subscription)
  if (givesUp && terms?.found.pending_update) {
    await closePage(deps, billingLease, terms)
    terms = await readTermsOf(deps, change.params.subscription)
  }
  if (terms?.found.pending_update) return null
  if (terms?.item.price.id === change.target.price) return executeChange(deps, billingLease, change, terms)
  await deps.db.transaction(async tx => {
    await assertHeld(tx, billingLease)
    await setChangeState(tx, {org: billingLease.org, id: change.id, state: 'declined', error: 'not_confirmed'})
  })
  return null
}

/**
 * Closes the page by voiding its invoice, which also drops the pending update. The provider refuses this if the invoice was paid meanwhile;
 * such a refusal is ignored.
 */
const closePage = async ({db, payment}: PlanChangeDeps, billingLease: BillingLease, {found}: Terms) => {
  const invoice = idOf(found.latest_invoice)
  if (invoice === null) return
  await keepLease(db, billingLease)
  await payment
    .ask('invoice', stripe => stripe.invoices.voidInvoice(invoice))
    .catch(error => {
      if (!(error instanceof PaymentFailure && error.kind === 'refused')) throw error
    })
}
