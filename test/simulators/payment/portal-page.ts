import {type Answer, html, seeOther} from './answers.ts'
import {cardNumbers} from './cards.ts'
import {tokenOf} from './checkout-page.ts'
import {cardField, day, escapeHtml, layout, money, problem} from './page-layout.ts'
import {actAtPortal, type PortalAct} from './portal.ts'
import {Refusal} from './refusals.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'

/** The page on which a customer sees the subscription, changes the card, cancels and withdraws. */
export const answerPortalPage = (world: SimulatorState, method: string, id: string, body: string): Answer => {
  const session = world.store.get('billing_portal.session', id)
  if (!session) return html(layout('Not found', '<h1>There is no such page</h1>'), 404)
  if (method === 'GET') return html(portalPage(world, session, null))
  try {
    actAtPortal(world, id, readAct(new URLSearchParams(body)))
    return seeOther(`/p/session/${id}`)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return html(portalPage(world, session, error.message), error.status)
  }
}

const readAct = (form: URLSearchParams): PortalAct => {
  const [act, subscription] = [form.get('do'), form.get('subscription') ?? '']
  if (act === 'change card') return {do: act, card: tokenOf(form.get('card') ?? '')}
  if (act === 'cancel' || act === 'take back') return {do: act, subscription}
  throw new TypeError('The form does not say what to do')
}

const portalPage = (world: SimulatorState, session: Thing, refusal: string | null): string => {
  const {features} = world.store.get('billing_portal.configuration', session.configuration)!
  const subscriptions = world.store.all('subscription').filter(one => one.customer === session.customer && one.ended_at === null)
  const invoices = features.invoice_history.enabled ? world.store.all('invoice').filter(one => one.customer === session.customer) : []
  const card = `<form method="post">${cardField(cardNumbers)}<button name="do" value="change card">Use this card</button></form>`
  const back = session.return_url === null ? '' : `<p><a href="${escapeHtml(session.return_url)}">Go back</a></p>`
  return layout(
    'Billing',
    `<h1>Billing</h1>${problem(refusal)}${subscriptions.map(one => describe(one, features.subscription_cancel.enabled)).join('')}
${features.payment_method_update.enabled ? card : ''}
<table>${invoices.map(one => `<tr><td>${day(one.created)} ${one.status}</td><td>${money(one.total, one.currency)}</td></tr>`).join('')}</table>${back}`,
  )
}

const describe = (subscription: Thing, isCancellable: boolean): string => {
  const [item] = subscription.items.data
  const price = `${money(item.price.unit_amount ?? 0, subscription.currency)} / ${item.price.recurring.interval}`
  const isEnding = subscription.cancel_at !== null
  const ends = isEnding ? `<p>It ends on ${day(subscription.cancel_at)}.</p>` : `<p>It renews on ${day(item.current_period_end)}.</p>`
  const [act, label] = isEnding ? ['take back', 'Keep the subscription'] : ['cancel', 'Cancel the subscription']
  const form = `<form method="post"><input type="hidden" name="subscription" value="${subscription.id}"><button name="do" value="${act}">${label}</button></form>`
  return `<p>${subscription.status}: ${price}</p>${ends}${isCancellable ? form : ''}`
}
