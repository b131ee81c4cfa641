import {createServer} from 'node:http'
import type {AddressInfo} from 'node:net'
import type {ExecutionContext} from 'ava'
import {Stripe} from 'stripe'
import {checkAnswer} from './payment/schemas.ts'
import {type PaymentOptions, type PaymentSimulator, startPayment} from './payment.ts'

export type Payment = {payment: PaymentSimulator; stripe: Stripe}

/** Starts a stand-in for one test, and the provider's SDK. The stand-in checks every answer against the provider's types. */
export const openPayment = async (t: ExecutionContext, options: PaymentOptions = {}): Promise<Payment> => {
  const payment = await startPayment({check: checkAnswer, ...options})
  t.teardown(payment.stop)
  return {payment, stripe: sdk(payment)}
}

export const sdk = (payment: PaymentSimulator, options: Stripe.StripeConfig = {}): Stripe =>
  new Stripe('sk_test_stand_in', {
    host: '127.0.0.1',
    port: payment.port,
    protocol: 'http',
    maxNetworkRetries: 0,
    telemetry: false,
    ...options,
  })

/** The ids of the monthly and yearly prices of two plans, and of the price of a pack. */
export type Shop = Record<'team' | 'teamYear' | 'business' | 'businessYear' | 'pack', string>

export const openShop = async (stripe: Stripe): Promise<Shop> => {
  const [team, business, pack] = await Promise.all(['Team', 'Business', 'Pack'].map(name => stripe.products.create({name})))
  const price = async (product: string, amount: number, interval?: 'month' | 'year') =>
    (await stripe.prices.create({product, unit_amount: amount, currency: 'eur', ...(interval ? {recurring: {interval}} : {})})).id
  return {
    team: await price(team!.id, 3000, 'month'),
    teamYear: await price(team!.id, 30_000, 'year'),
    business: await price(business!.id, 9000, 'month'),
    businessYear: await price(business!.id, 90_000, 'year'),
    pack: await price(pack!.id, 1500),
  }
}

/** Creates a customer with a default card, or without a card if it is null. */
export const addCustomer = async (stripe: Stripe, card: string | null = 'pm_card_visa'): Promise<{id: string; card: string}> => {
  const customer = await stripe.customers.create({name: 'Ana Ono', email: 'ana@example.org'})
  if (card === null) return {id: customer.id, card: ''}
  const attached = await stripe.paymentMethods.attach(card, {customer: customer.id})
  await stripe.customers.update(customer.id, {invoice_settings: {default_payment_method: attached.id}})
  return {id: customer.id, card: attached.id}
}

export const subscribe = (stripe: Stripe, customer: string, price: string, more: Partial<Stripe.SubscriptionCreateParams> = {}) =>
  stripe.subscriptions.create({customer, items: [{price}], ...more})

/** Returns the error of a call; fails the test if the call succeeds. */
export const refusal = async (t: ExecutionContext, call: Promise<unknown>): Promise<any> => (await t.throwsAsync(call)) as any

export type Received = {body: string; signature: string; event: Stripe.Event}

/** Starts a webhook receiver. `answer` returns the status for an event. */
export const listen = async (t: ExecutionContext, answer: (event: Stripe.Event) => number | Promise<number> = () => 200) => {
  const received: Received[] = []
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    const event = JSON.parse(body) as Stripe.Event
    received.push({body, signature: String(incoming.headers['stripe-signature']), event})
    outgoing.writeHead(await answer(event)).end()
  })
  const {promise, resolve} = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', resolve)
  await promise
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return {url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, received}
}
