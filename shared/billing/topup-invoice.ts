import type {Stripe} from 'stripe'
import {type Attempt, listUninvoiced, setTopupInvoice} from '../../sql/topups.ts'
import {metadataOf} from './metadata.ts'
import {nullWhereGone, PaymentFailure} from './payment-failure.ts'
import type {Tools} from './topup-charge.ts'

/** What a top-up sells, frozen before the charge: the invoice says the same. */
export type SoldPack = {product: string; unitAmount: number; taxBehavior: 'inclusive' | 'exclusive' | null; isTaxed: boolean}

/**
 * A step of the worker's rounds: issues the invoice of each paid top-up, so that it is among the org's invoices at the portal. The charge pays
 * the invoice. Credits do not wait for it. Answers how many were due.
 */
export const issueTopupInvoices = async (tools: Tools, {most}: {most: number}): Promise<number> => {
  if (!tools.payment.isConfigured) return 0
  const due = await listUninvoiced(tools.db, most)
  for (const attempt of due) await issue(tools, attempt).catch(noteFailure(tools, attempt))
  return due.length
}

/** A refusal stays a refusal: support issues that invoice by hand. Anything else is tried again in the next round. */
const noteFailure =
  ({db, log}: Tools, {id, org}: Attempt) =>
  async (err: unknown) => {
    if (!(err instanceof PaymentFailure)) throw err
    const isFinal = err.kind === 'refused' && err.status !== 401 && err.status !== 403
    if (isFinal) await setTopupInvoice(db, {id, invoice: null, state: 'failed'})
    const says = isFinal
      ? 'the payment provider refuses the invoice of a top-up: issue it by hand'
      : 'the invoice of a top-up is issued later'
    log[isFinal ? 'error' : 'warn']({err, org, attempt: id, kind: err.kind, request: err.requestId}, says)
  }

/** Each step begins from what the provider has, and has a key: processes that do this at once make one invoice. */
const issue = async (tools: Tools, attempt: Attempt): Promise<void> => {
  const {db} = tools
  const {id} = attempt
  const sold = attempt.params.sold as SoldPack | undefined
  const create = attempt.params.create as unknown as Stripe.PaymentIntentCreateParams
  let invoice = await findOrCreate(tools, attempt, {create, isTaxed: sold?.isTaxed === true})
  await setTopupInvoice(db, {id, invoice: invoice.id!, state: 'due'})
  if (invoice.status === 'draft' && invoice.lines.data.length === 0) invoice = await addLine(tools, attempt, invoice.id!, {create, sold})
  if (invoice.status === 'draft') invoice = await finalize(tools, id, invoice.id!)
  if (invoice.status === 'open') invoice = await attach(tools, attempt, invoice.id!)
  if (invoice.status !== 'draft' && invoice.status !== 'open') await setTopupInvoice(db, {id, invoice: invoice.id!, state: 'issued'})
}

type Drafted = {create: Stripe.PaymentIntentCreateParams; isTaxed: boolean}

const findOrCreate = async (tools: Tools, attempt: Attempt, {create, isTaxed}: Drafted): Promise<Stripe.Invoice> => {
  const {payment, config} = tools
  const {id, org, invoiceId} = attempt
  const known = invoiceId && (await payment.ask('invoice', stripe => stripe.invoices.retrieve(invoiceId)).catch(nullWhereGone))
  if (known) return known
  const params: Stripe.InvoiceCreateParams = {
    ...{customer: create.customer!, currency: create.currency!, collection_method: 'charge_automatically', auto_advance: false},
    ...{pending_invoice_items_behavior: 'exclude', description: create.description!},
    metadata: metadataOf(config, {org, kind: 'autotopup', attempt_id: id}),
    ...(isTaxed && {automatic_tax: {enabled: true}}),
  }
  return payment.ask('invoice', stripe => stripe.invoices.create(params, {idempotencyKey: `topup:${id}:invoice`}))
}

type Sale = {create: Stripe.PaymentIntentCreateParams; sold: SoldPack | undefined}

const addLine = ({payment}: Tools, {id, quantity}: Attempt, invoice: string, {create, sold}: Sale): Promise<Stripe.Invoice> => {
  const {description, currency, amount} = create
  const line: Stripe.InvoiceAddLinesParams.Line = sold
    ? {
        ...{description: description!, quantity},
        price_data: {
          ...{currency, product: sold.product, unit_amount: sold.unitAmount},
          ...(sold.taxBehavior && {tax_behavior: sold.taxBehavior}),
        },
      }
    : {description: description!, amount}
  return payment.ask('invoice', stripe => stripe.invoices.addLines(invoice, {lines: [line]}, {idempotencyKey: `topup:${id}:lines`}))
}

const finalize = ({payment}: Tools, id: string, invoice: string): Promise<Stripe.Invoice> =>
  payment.ask('invoice', stripe =>
    stripe.invoices.finalizeInvoice(invoice, {auto_advance: false}, {idempotencyKey: `topup:${id}:finalize`}),
  )

const attach = ({payment}: Tools, {id, intentId}: Attempt, invoice: string): Promise<Stripe.Invoice> =>
  payment.ask('invoice', stripe =>
    stripe.invoices.attachPayment(invoice, {payment_intent: intentId!}, {idempotencyKey: `topup:${id}:attach`}),
  )
