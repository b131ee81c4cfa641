import {type Answer, html, seeOther} from './answers.ts'
import {cardNumbers} from './cards.ts'
import {tokenOf} from './checkout-page.ts'
import {collect} from './collect.ts'
import {cardField, escapeHtml, layout, money, problem} from './page-layout.ts'
import {newCard} from './payment-methods.ts'
import {declined, Refusal} from './refusals.ts'
import {attempt, type SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'

/** The page on which a customer pays an open invoice and confirms the payment. */
export const answerInvoicePage = (world: SimulatorState, method: string, id: string, body: string): Answer => {
  const invoice = world.store.get('invoice', id)
  if (!invoice || invoice.status === 'draft') return html(layout('Not found', '<h1>There is no such page</h1>'), 404)
  if (method === 'GET' || invoice.status !== 'open') return html(invoicePage(invoice, null))
  try {
    attempt(world, () => pay(world, invoice, tokenOf(new URLSearchParams(body).get('card') ?? '')))
    return seeOther(`/i/${id}`)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return html(invoicePage(world.store.get('invoice', id)!, error.message), error.status)
  }
}

/** A failed attempt is recorded. */
const pay = (world: SimulatorState, invoice: Thing, token: string) => {
  const card = newCard(world, token)
  const {failure} = collect(world, invoice, {card: card.id, isPresent: true})
  if (failure) throw declined(failure === 'no card' ? 'card_declined' : failure, {}, true)
}

const invoicePage = (invoice: Thing, refusal: string | null): string => {
  const rows = invoice.lines.data.map(
    (line: Thing) => `<tr><td>${escapeHtml(line.description ?? '')}</td><td>${money(line.amount, line.currency)}</td></tr>`,
  )
  const form = `<form method="post">${cardField(cardNumbers)}<button class="main">Pay</button></form>`
  return layout(
    'Invoice',
    `<h1>Invoice ${invoice.number}: ${invoice.status}</h1>${problem(refusal)}
<table>${rows.join('')}<tr><td><strong>Due</strong></td><td><strong>${money(invoice.amount_remaining, invoice.currency)}</strong></td></tr></table>
${invoice.status === 'open' ? form : ''}`,
  )
}
