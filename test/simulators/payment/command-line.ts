import {parseArgs} from 'node:util'
import type {PaymentOptions, PaymentStandIn} from '../payment.ts'
import {openSnapshot} from './snapshot.ts'

const usage = `node test/simulators/payment.ts [--port 4020] [--host 127.0.0.1] [--seed TEXT] [--at INSTANT] [--key sk_test_…]
  [--webhook URL]... [--webhook-secret whsec_…] [--snapshot FILE] [--live]`

const tickMs = 1000

/** The stand-in as a process: prints its address and the secrets of its webhooks, ends on SIGTERM and SIGINT. */
export const runAlone = async (start: (options: PaymentOptions) => Promise<PaymentStandIn>) => {
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
  // Those of an earlier start led elsewhere, perhaps.
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

/** Its time goes with ours, unless somebody has moved it ahead; what fell due while it was off is done now. */
const live = (payment: PaymentStandIn) => {
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
