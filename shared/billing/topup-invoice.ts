import type {Stripe} from 'stripe'
import {type Attempt, listUninvoiced, setTopupInvoice} from '../../sql/topups.ts'
import {metadataOf} from './metadata.ts'
import {failureIn, nullWhereGone, PaymentFailure} from './payment-failure.ts'
import type {TopupDeps} from './topup-charge.ts'

/** The pack as sold, stored before the charge, so that the invoice shows the same values. */
export type SoldPack = {product: string; unitAmount: number; taxBehavior: 'inclusive' | 'exclusive' | null; isTaxed: boolean}

/**
 * Periodic task: issues the invoices of paid top-ups, so that the portal lists them. The charge is attached to the invoice as its payment. Credits do
 * not wait for the invoice. Returns the number of due invoices.
 */
export const issueTopupInvoices = async (deps: TopupDeps, {most}: {most: number}): Promise<number> => {
  if (!deps.payment.isConfigured) return 0
  const due = await listUninvoiced(deps.db, most)
  for (const attempt of due) await issue(deps, attempt).catch(noteFailure(deps, attempt))
  return due.length
}

/**
 * Returns a handler for a failed invoice. If the provider refused the invoice itself, support must issue it manually. After any other failure, such
 * as an invalid key, the next run of the task tries again.
 */
const noteFailure =
  ({db, log}: TopupDeps, {id, org}: Attempt) =>
  async (err: unknown) => {
    if (!(err instanceof PaymentFailure)) throw err
    const isFinal = err.kind === 'refused' && err.status !== 401 && err.status !== 403
    if (isFinal) await setTopupInvoice(db, {id, invoice: null, state: 'failed'})
    const says = isFinal
      ? 'the payment provider refused the invoice of a top-up; issue it by hand'
      : 'could not issue the invoice of a top-up; trying again later'
    log[isFinal ? 'error' : 'warn']({err, org, attempt: id, kind: err.kind, request: err.requestId}, says)
  }

/** Issues one invoice. Each step depends on the provider's state and has an idempotency key, so concurrent processes make one invoice. */
const issue = async (deps: TopupDeps, attempt: Attempt): Promise<void> => {
  const {db} = deps
  const {id} = attempt
  const sold = attempt.params.sold as SoldPack | undefined
  const create = attempt.params.create as unknown as Stripe.PaymentIntentCreateParams
  let invoice = await findOrCreate(deps, attempt, {create, isTaxed: sold?.isTaxed === true})
  await setTopupInvoice(db, {id, invoice: invoice.id!, state: 'due'})
  if (invoice.status === 'draft' && invoice.lines.data.length === 0) invoice = await addLine(deps, attempt, invoice.id!, {create, sold})
  if (invoice.status === 'draft' && !takesPayment(invoice, create.amount)) return leaveToStaff(deps, attempt)
  if (invoice.status === 'draft') invoice = await finalize(deps, id, invoice.id!)
  if (invoice.status === 'open') invoice = await attach(deps, attempt, invoice.id!)
  if (invoice.status !== 'draft' && invoice.status !== 'open') await setTopupInvoice(db, {id, invoice: invoice.id!, state: 'issued'})
}

/**
 * Returns whether the payment can pay the invoice. The provider applies the customer's balance when the invoice is finalised. A customer's credit
 * must not cover the whole total, or the customer would pay twice. A debt, or a tax increase after the payment, would leave the invoice open. The
 * provider credits an excess to the customer.
 */
const takesPayment = ({total, starting_balance: balance}: Stripe.Invoice, paid: number) =>
  balance <= 0 && total + balance > 0 && total + balance <= paid

const leaveToStaff = async ({db, log}: TopupDeps, {id, org}: Attempt) => {
  await setTopupInvoice(db, {id, invoice: null, state: 'failed'})
  log.error({org, attempt: id}, "the customer's balance or tax conflicts with the invoice of a top-up; issue it by hand")
}

type DraftInvoice = {create: Stripe.PaymentIntentCreateParams; isTaxed: boolean}

const findOrCreate = async (deps: TopupDeps, attempt: Attempt, {create, isTaxed}: DraftInvoice): Promise<Stripe.Invoice> => {
  const {payment, config} = deps
  const {id, org, invoiceId} = attempt
  const known = invoiceId && (await payment.ask('invoice', stripe => stripe.invoices.retrieve(invoiceId)).catch(nullWhereGone))
  if (known) return known
  const params: Stripe.InvoiceCreateParams = {
    customer: create.customer!,
    currency: create.currency!,
    collection_method: 'charge_automatically',
    auto_advance: false,
    pending_invoice_items_behavior: 'exclude',
    // The charge ignores the customer's coupon, so the invoice does too.
    discounts: '',
    description: create.description!,
    metadata: metadataOf(config, {org, kind: 'autotopup', attempt_id: id}),
    ...(isTaxed && {automatic_tax: {enabled: true}}),
  }
  return payment
    .ask('invoice', stripe => stripe.invoices.create(params, {idempotencyKey: `topup:${id}:invoice`}))
    .catch(error => findCreated(deps, attempt, create.customer!, error))
}

/**
 * Returns the invoice that an earlier release created. It used the same key with other parameters, so the provider refuses the call. Throws
 * `error` if there is no such invoice.
 */
const findCreated = async ({payment}: TopupDeps, {id}: Attempt, customer: string, error: unknown): Promise<Stripe.Invoice> => {
  if (failureIn(error).kind !== 'refused') throw error
  const {data} = await payment.ask('list', stripe => stripe.invoices.list({customer, limit: 100}))
  const invoice = data.find(({metadata}) => metadata?.attempt_id === id)
  if (!invoice) throw error
  return invoice
}

type Sale = {create: Stripe.PaymentIntentCreateParams; sold: SoldPack | undefined}

const addLine = ({payment}: TopupDeps, {id, quantity}: Attempt, invoice: string, {create, sold}: Sale): Promise<Stripe.Invoice> => {
  const {description, currency, amount} = create
  const line: Stripe.InvoiceAddLinesParams.Line = sold
    ? {
        description: description!,
        quantity,
        price_data: {
          currency,
          product: sold.product,
          unit_amount: sold.unitAmount,
          ...(sold.taxBehavior && {tax_behavior: sold.taxBehavior}),
        },
      }
    : {description: description!, amount}
  return payment.ask('invoice', stripe => stripe.invoices.addLines(invoice, {lines: [line]}, {idempotencyKey: `topup:${id}:lines`}))
}

const finalize = ({payment}: TopupDeps, id: string, invoice: string): Promise<Stripe.Invoice> =>
  payment.ask('invoice', stripe =>
    stripe.invoices.finalizeInvoice(invoice, {auto_advance: false}, {idempotencyKey: `topup:${id}:finalize`}),
  )

const attach = ({payment}: TopupDeps, {id, intentId}: Attempt, invoice: string): Promise<Stripe.Invoice> =>
  payment.ask('invoice', stripe =>
    stripe.invoices.attachPayment(invoice, {payment_intent: intentId!}, {idempotencyKey: `topup:${id}:attach`}),
  )
