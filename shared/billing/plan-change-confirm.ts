import {findConfirmingChange, setChangeState} from '../../sql/plan-changes.ts'
import {assertHeld, type Held, keepHeld} from './lease.ts'
import {PaymentFailure} from './payment-failure.ts'
import {pursue, type Tools} from './plan-change-run.ts'
import {readTermsOf, type Terms} from './plan-change-terms.ts'
import {idOf, isoOf} from './subscription.ts'

/** Where a customer confirms a payment, and until when. */
export type Confirmation = {url: string; expiresAt: string}

/** Null where nothing waits, or the provider names no page. */
export const confirmationOf = ({found}: Terms): Confirmation | null => {
  const {pending_update: pending, latest_invoice: invoice} = found
  if (pending === null || invoice === null || typeof invoice === 'string' || !invoice.hosted_invoice_url) return null
  return {url: invoice.hosted_invoice_url, expiresAt: isoOf(pending.expires_at)!}
}

/**
 * Finishes the change that waits for a confirmed payment: paid, it is carried out to its end; given up, the old plan stays. While it waits
 * nothing happens, unless `givesUp`: another change is asked for, so the page is closed before that.
 */
export const settleConfirming = async (tools: Tools, held: Held, {givesUp}: {givesUp: boolean}): Promise<void> => {
  const change = await findConfirmingChange(tools.db, held.org)
  if (!change) return
  let terms = await readTermsOf(tools, change.params.subscription)
  if (givesUp && terms?.found.pending_update) {
    await closePage(tools, held, terms)
    terms = await readTermsOf(tools, change.params.subscription)
  }
  if (terms?.found.pending_update) return
  if (terms?.item.price.id === change.target.price) return void (await pursue(tools, held, change, terms))
  await tools.db.transaction(async tx => {
    await assertHeld(tx, held)
    await setChangeState(tx, {org: held.org, id: change.id, state: 'declined', error: 'not_confirmed'})
  })
}

/** A void invoice takes the pending update with it. The provider refuses this where the invoice was paid meanwhile. */
const closePage = async ({db, payment}: Tools, held: Held, {found}: Terms) => {
  const invoice = idOf(found.latest_invoice)
  if (invoice === null) return
  await keepHeld(db, held)
  await payment
    .ask('invoice', stripe => stripe.invoices.voidInvoice(invoice))
    .catch(error => {
      if (!(error instanceof PaymentFailure && error.kind === 'refused')) throw error
    })
}
