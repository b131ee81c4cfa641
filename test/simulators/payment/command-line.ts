import {parseArgs} from 'node:util'
import type {PaymentOptions, PaymentSimulator} from '../payment.ts'
import {openSnapshot} from './snapshot.ts'

const usage = `node test/simulators/payment.ts [--port 4020] [--host 127.0.0.1] [--seed TEXT] [--at INSTANT] [--key sk_test_…]
  [--webhook URL]... [--webhook-secret whsec_…] [--snapshot FILE] [--live]`

const tickMs = 1000

/** The stand-in as a process: prints its address and webhook secrets, ends on SIGTERM and SIGINT. */
export const runAlone = async (start: (options: PaymentOptions) => Promise<PaymentSimulator>) => {
  const options = readOptions(process.argv.slice(2))
  if (!options) {
    console.error(usage)
    process.exitCode = 2
    return
  }
  const {webhooks, snapshot: file, isLive, ...rest} = options
  const payment = await start(isLive ? {...rest, at: 0, signedAt: wallClock} : rest)
  const snapshot = file === undefined ? null : openSnapshot(payment, file)
  console.log(payment.url)
  // Endpoints of an earlier start may have another address.
  for (const {id} of payment.all('webhook_endpoint')) payment.world.store.drop('webhook_endpoint', id)
  for (const url of webhooks) console.log(`${url} ${payment.addEndpoint(url).secret}`)
  if (isLive) live(payment)
  const end = () => {
    snapshot?.close()
    void payment.stop().then(() => process.exit(0))
  }
  process.once('SIGTERM', end)
  process.once('SIGINT', end)
}

const wallClock = () => Math.floor(Date.now() / 1000)

/** Follows the real time, unless it was moved ahead; actions that fell due while it was off are executed. */
const live = (payment: PaymentSimulator) => {
  const tick = async () => {
    if (payment.now() < wallClock()) await payment.advanceTo(wallClock())
    setTimeout(tick, tickMs).unref()
  }
  void tick()
}

const readOptions = (args: string[]) => {
  try {
    const {values} = parseArgs({
      args,
      options: {
        port: {type: 'string', default: '4020'},
        host: {type: 'string', default: '127.0.0.1'},
        seed: {type: 'string'},
        at: {type: 'string'},
        key: {type: 'string'},
        webhook: {type: 'string', multiple: true, default: []},
        'webhook-secret': {type: 'string'},
        snapshot: {type: 'string'},
        live: {type: 'boolean', default: false},
      },
    })
    const {port, host, seed, at, key, webhook, 'webhook-secret': secret, snapshot, live: isLive} = values
    return {
      ...{port: Number(port), host, webhooks: webhook, snapshot, isLive},
      ...(seed === undefined ? {} : {seed}),
      ...(at === undefined ? {} : {at}),
      ...(key === undefined ? {} : {secretKey: key}),
      ...(secret === undefined ? {} : {webhookSecret: secret}),
    }
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    return null
  }
}
