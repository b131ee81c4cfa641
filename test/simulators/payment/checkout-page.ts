import {type Answer, html, seeOther} from './answers.ts'
import {cardNumbers} from './cards.ts'
import {payCheckout} from './checkout-payment.ts'
import {cardField, day, escapeHtml, layout, money, problem} from './page-layout.ts'
import {Refusal} from './refusals.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'

/** The payment page: GET shows it, POST pays and redirects, or shows the reason for a refusal. */
export const answerCheckoutPage = (world: SimulatorState, method: string, id: string, body: string): Answer => {
  const session = world.store.get('checkout.session', id)
  if (!session) return html(layout('Not found', '<h1>There is no such page</h1>'), 404)
  if (session.status !== 'open') return html(closedPage(session), session.status === 'expired' ? 410 : 200)
  if (method === 'GET') return html(openPage(world, session, null))
  const form = new URLSearchParams(body)
  try {
    const paid = payCheckout(world, id, {card: tokenOf(form.get('card') ?? ''), ...(form.get('email') ? {email: form.get('email')!} : {})})
    return seeOther(paid.success_url.replaceAll('{CHECKOUT_SESSION_ID}', id))
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return html(openPage(world, session, error.message), error.status)
  }
}

/** Converts an entered number; a token of a test card stays unchanged. */
export const tokenOf = (typed: string): string => cardNumbers[typed.replaceAll(/\s/g, '')] ?? typed

const openPage = (world: SimulatorState, session: Thing, refusal: string | null): string => {
  const {line_items: lines, subscription_data: data} = world.store.get('~checkout', session.id)!
  const rows = lines.data.map((line: Thing) => `<tr><td>${describe(line)}</td><td>${money(line.amount_total, line.currency)}</td></tr>`)
  const later = data?.trial_end === undefined ? '' : `<p>Nothing is due today. The first payment is on ${day(data.trial_end)}.</p>`
  const email = session.customer === null ? '<label for="email">E-mail</label><input id="email" name="email" type="email" required>' : ''
  const back = session.cancel_url === null ? '' : `<p><a href="${escapeHtml(session.cancel_url)}">Go back without paying</a></p>`
  return layout(
    'Checkout',
    `<h1>${session.mode === 'subscription' ? 'Subscribe' : 'Pay'}</h1>${problem(refusal)}
<table>${rows.join('')}<tr><td><strong>Due today</strong></td><td><strong>${money(session.amount_total, session.currency)}</strong></td></tr></table>${later}
<form method="post">${email}${cardField(cardNumbers)}<button class="main">Pay</button></form>${back}`,
  )
}

const describe = ({description, quantity, price}: Thing): string => {
  const every = price.recurring ? ` / ${price.recurring.interval}` : ''
  return `${quantity ?? ''}${quantity === null ? '' : ' × '}${escapeHtml(description ?? '')}${every}`
}

const closedPage = ({status}: Thing): string =>
  layout('Checkout', status === 'expired' ? '<h1>This page has expired</h1><p>Nothing was paid.</p>' : '<h1>This is paid already</h1>')
