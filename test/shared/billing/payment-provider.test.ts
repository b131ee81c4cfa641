import {once} from 'node:events'
import {createServer} from 'node:http'
import type {AddressInfo} from 'node:net'
import test from 'ava'
import {openPaymentProvider} from '../../../shared/billing/payment-provider.ts'

test('an answer sent byte by byte times out, and the outcome of the call is unknown', async t => {
  const server = createServer((_, answer) => {
    answer.writeHead(200, {'content-type': 'application/json'}).write('{"object":"customer"')
    const dripping = setInterval(() => answer.write(' '), 20)
    answer.on('close', () => clearInterval(dripping))
  }).listen(0, '127.0.0.1')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const {ask} = openPaymentProvider({PAYMENT_API_KEY: 'sk_test_x', PAYMENT_API_URL: url, PAYMENT_WEBHOOK_SECRETS: []}, 300)
  await t.throwsAsync(
    ask('customer', stripe => stripe.customers.retrieve('cus_1')),
    {name: 'PaymentFailure', message: 'The answer took too long'},
  )
})
