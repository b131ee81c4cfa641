import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import test, {type ExecutionContext} from 'ava'
import {openSnapshot} from './payment/store.ts'
import {addCustomer, openPayment, openShop, subscribe} from './payment-caller.ts'

const fileFor = (t: ExecutionContext) => {
  const folder = mkdtempSync(join(tmpdir(), 'lading-payment-'))
  t.teardown(() => rmSync(folder, {recursive: true}))
  return join(folder, 'payment.json')
}

test('renewals, idempotency keys and deliveries of a snapshot continue after a restart', async t => {
  const file = fileFor(t)
  const first = await openPayment(t)
  const shop = await openShop(first.stripe)
  const {id} = await addCustomer(first.stripe)
  const {id: subscription} = await subscribe(first.stripe, id, shop.team)
  const made = await first.stripe.customers.create({name: 'Once'}, {idempotencyKey: 'k'})
  first.payment.addEndpoint('http://127.0.0.1:9/hook')
  openSnapshot(first.payment, file).close()

  const second = await openPayment(t)
  openSnapshot(second.payment, file).close()
  t.is((await second.stripe.customers.create({name: 'Once'}, {idempotencyKey: 'k'})).id, made.id)
  t.deepEqual(second.payment.state().counts, first.payment.state().counts)
  for (const {payment} of [first, second]) await payment.advance(40 * 86_400)
  t.deepEqual(second.payment.money(), first.payment.money())
  t.true(second.payment.money().charged > 3000)
  t.deepEqual(await second.stripe.subscriptions.retrieve(subscription), await first.stripe.subscriptions.retrieve(subscription))
})

test('an unreadable snapshot is renamed and ignored', async t => {
  const file = fileFor(t)
  writeFileSync(file, '{"version": 1, "things": [')
  const {payment, stripe} = await openPayment(t)
  openSnapshot(payment, file).close()
  t.is(readFileSync(`${file}.unreadable`, 'utf8'), '{"version": 1, "things": [')
  t.is((await stripe.customers.list()).data.length, 0)
})
