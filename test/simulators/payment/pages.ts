import {collect} from './billing.ts'
import {payCheckout} from './checkout-payment.ts'
import {cardNumbers, newCard} from './customers.ts'
import {actAtPortal, type PortalAct} from './portal.ts'
import {attempt, type SimulatorState} from './state.ts'
import type {Thing} from './store.ts'
import {type Answer, declined, definedOf, html, Refusal, type Request} from './wire.ts'

/** Answers a request for a page of people: Checkout, the portal or an invoice. Returns null for any other path. */
export const answerPage = (world: SimulatorState, {method, path, body}: Request): Answer | null => {
  const form = new URLSearchParams(method === 'GET' ? '' : body)
  const [, kind, id] = /^(\/c\/pay\/|\/p\/session\/|\/i\/)(.*)$/.exec(path) ?? []
  if (kind === undefined || id === undefined) return null
  const page =
    kind === '/i/' ? invoicePage(world, id, form) : kind === '/c/pay/' ? checkoutPage(world, id, form) : portalPage(world, id, form)
  if (!page) return html(layout('Not found', '<h1>There is no such page</h1>'), 404)
  if (method === 'GET' || !page.act) return html(page.show(null), page.status)
  try {
    return {status: 303, text: '', headers: {location: page.act()}}
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return html(page.show(error.message), error.status)
  }
}

/** A page. `act` executes the submitted form and returns the next address. If the form is refused, `show` shows the page with the reason. */
type Page = {show: (refusal: string | null) => string; act?: () => string; status?: number}

const checkoutPage = (world: SimulatorState, id: string, form: URLSearchParams): Page | null => {
  const session = world.store.get('checkout.session', id)
  if (!session) return null
  if (session.status === 'expired')
    return {show: () => layout('Checkout', '<h1>This page has expired</h1><p>Nothing was paid.</p>'), status: 410}
  if (session.status !== 'open') return {show: () => layout('Checkout', '<h1>This is paid already</h1>')}
  const act = () => {
    const paid = payCheckout(world, id, {card: cardIn(form), ...definedOf({email: form.get('email') || undefined})})
    return paid.success_url.replaceAll('{CHECKOUT_SESSION_ID}', id)
  }
  return {show: refusal => showCheckout(world, session, refusal), act}
}

const showCheckout = (world: SimulatorState, session: Thing, refusal: string | null): string => {
  const {line_items: lines, subscription_data: data} = world.store.get('~checkout', session.id)!
  const rows = lines.data.map((line: Thing) => row(describeLine(line), line.amount_total, line.currency))
  const later = data?.trial_end === undefined ? '' : `<p>Nothing is due today. The first payment is on ${day(data.trial_end)}.</p>`
  const email = session.customer === null ? '<label for="email">E-mail</label><input id="email" name="email" type="email" required>' : ''
  const table = [...rows, rowOfTotal('Due today', session.amount_total, session.currency)].join('')
  const title = session.mode === 'subscription' ? 'Subscribe' : 'Pay'
  const back = link(session.cancel_url, 'Go back without paying')
  return layout('Checkout', `<h1>${title}</h1>${problem(refusal)}<table>${table}</table>${later}${payForm(email)}${back}`)
}

const describeLine = ({description, quantity, price}: Thing): string => {
  const every = price.recurring ? ` / ${price.recurring.interval}` : ''
  return `${quantity === null ? '' : `${quantity} × `}${escapeHtml(description ?? '')}${every}`
}

const portalPage = (world: SimulatorState, id: string, form: URLSearchParams): Page | null => {
  const session = world.store.get('billing_portal.session', id)
  const act = () => {
    actAtPortal(world, id, readAct(form))
    return `/p/session/${id}`
  }
  return session ? {show: refusal => showPortal(world, session, refusal), act} : null
}

const readAct = (form: URLSearchParams): PortalAct => {
  const [act, subscription] = [form.get('do'), form.get('subscription') ?? '']
  if (act === 'change card') return {do: act, card: cardIn(form)}
  if (act === 'cancel' || act === 'take back') return {do: act, subscription}
  throw new TypeError('The form does not say what to do')
}

const showPortal = (world: SimulatorState, {customer, configuration, return_url}: Thing, refusal: string | null): string => {
  const {features} = world.store.get('billing_portal.configuration', configuration)!
  const subscriptions = world.store.all('subscription').filter(one => one.customer === customer && one.ended_at === null)
  const described = subscriptions.map(one => describeSubscription(one, features.subscription_cancel.enabled)).join('')
  const invoices = features.invoice_history.enabled ? world.store.all('invoice').filter(one => one.customer === customer) : []
  const rows = invoices.map(one => row(`${day(one.created)} ${one.status}`, one.total, one.currency)).join('')
  const card = `<form method="post">${cardField}<button name="do" value="change card">Use this card</button></form>`
  const change = features.payment_method_update.enabled ? card : ''
  return layout('Billing', `<h1>Billing</h1>${problem(refusal)}${described}${change}<table>${rows}</table>${link(return_url, 'Go back')}`)
}

const describeSubscription = (subscription: Thing, isCancellable: boolean): string => {
  const [item] = subscription.items.data
  const price = `${money(item.price.unit_amount ?? 0, subscription.currency)} / ${item.price.recurring.interval}`
  const isEnding = subscription.cancel_at !== null
  const ends = isEnding ? `<p>It ends on ${day(subscription.cancel_at)}.</p>` : `<p>It renews on ${day(item.current_period_end)}.</p>`
  const [act, label] = isEnding ? ['take back', 'Keep the subscription'] : ['cancel', 'Cancel the subscription']
  const form = `<form method="post"><input type="hidden" name="subscription" value="${subscription.id}"><button name="do" value="${act}">${label}</button></form>`
  return `<p>${subscription.status}: ${price}</p>${ends}${isCancellable ? form : ''}`
}

/** Returns the page on which a customer pays an open invoice. */
const invoicePage = (world: SimulatorState, id: string, form: URLSearchParams): Page | null => {
  const invoice = world.store.get('invoice', id)
  if (!invoice || invoice.status === 'draft') return null
  const act = () => {
    attempt(world, () => payInvoice(world, invoice, cardIn(form)))
    return `/i/${id}`
  }
  return {show: refusal => showInvoice(world.store.get('invoice', id)!, refusal), ...(invoice.status === 'open' ? {act} : {})}
}

/** Pays an invoice. A failed payment throws, but the attempt stays recorded on the invoice. */
const payInvoice = (world: SimulatorState, invoice: Thing, token: string) => {
  const {failure} = collect(world, invoice, {card: newCard(world, token).id, isPresent: true})
  if (failure) throw declined(failure === 'no card' ? 'card_declined' : failure, {}, true)
}

const showInvoice = ({number, status, lines, amount_remaining: due, currency}: Thing, refusal: string | null): string => {
  const rows = lines.data.map((line: Thing) => row(escapeHtml(line.description ?? ''), line.amount, line.currency)).join('')
  const table = `<table>${rows}${rowOfTotal('Due', due, currency)}</table>`
  return layout('Invoice', `<h1>Invoice ${number}: ${status}</h1>${problem(refusal)}${table}${status === 'open' ? payForm('') : ''}`)
}

/** Returns the token of the entered card number, or the entered text, which may be a token. */
const cardIn = (form: URLSearchParams): string => {
  const typed = form.get('card') ?? ''
  return cardNumbers[typed.replaceAll(/\s/g, '')] ?? typed
}

/** Returns a plain page without scripts and external resources. */
const layout = (title: string, content: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · payment stand-in</title>
<style>${style}</style>
</head>
<body><main>${content}</main><footer>A stand-in for the payment provider: no real money is involved.</footer></body>
</html>
`

const entities: Record<string, string> = {'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;'}
const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, found => entities[found]!)

const money = (amount: number, currency: string): string => `${(amount / 100).toFixed(2)} ${currency.toUpperCase()}`
const day = (at: number): string => new Date(at * 1000).toISOString().slice(0, 10)

const row = (label: string, amount: number, currency: string) => `<tr><td>${label}</td><td>${money(amount, currency)}</td></tr>`
const rowOfTotal = (label: string, amount: number, currency: string) =>
  `<tr><td><strong>${label}</strong></td><td><strong>${money(amount, currency)}</strong></td></tr>`
const link = (url: string | null, label: string) => (url === null ? '' : `<p><a href="${escapeHtml(url)}">${label}</a></p>`)
const problem = (text: string | null) => (text === null ? '' : `<p class="problem" role="alert">${escapeHtml(text)}</p>`)

/** A field for a card number, with a list of working and failing cards. */
const cardField = `<label for="card">Card number</label>
<input id="card" name="card" list="cards" inputmode="numeric" autocomplete="off" required value="4242424242424242">
<datalist id="cards">${Object.entries(cardNumbers)
  .map(([number, token]) => `<option value="${number}">${token}</option>`)
  .join('')}</datalist>`

const payForm = (fields: string) => `<form method="post">${fields}${cardField}<button class="main">Pay</button></form>`

const style = `
:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}
body{margin:0;min-height:100vh;display:grid;place-content:center;gap:1rem;background:light-dark(#f3f1ee,#151412);color:light-dark(#27231e,#ece8e2)}
main{box-sizing:border-box;width:min(28rem,94vw);padding:2rem;border-radius:.75rem;background:light-dark(#fff,#1f1d1a);box-shadow:0 .5rem 2rem #0002}
h1{margin:0 0 1rem;font-size:1.4rem}label{display:block;margin:1rem 0 .25rem;font-size:.85rem;font-weight:600}
table{width:100%;border-collapse:collapse}td{padding:.3rem 0}td:last-child{text-align:right}
input,button{box-sizing:border-box;width:100%;font:inherit;padding:.6rem .75rem;border-radius:.5rem;border:1px solid light-dark(#c9c2b8,#4a453d);background:transparent;color:inherit}
button{margin-top:1rem;cursor:pointer}.main{background:#1d6b52;border-color:#1d6b52;color:#fff}
button:focus-visible,input:focus-visible{outline:3px solid #62b99a}
.problem{padding:.6rem .75rem;border-radius:.5rem;background:light-dark(#fbe9e7,#45211c)}footer{text-align:center;font-size:.8rem;opacity:.7}`
