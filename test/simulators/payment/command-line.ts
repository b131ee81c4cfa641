import {parseArgs} from 'node:util'
import type {PaymentOptions, PaymentStandIn} from '../payment.ts'

const usage =
  'node test/simulators/payment.ts [--port 4020] [--host 127.0.0.1] [--seed TEXT] [--at INSTANT] [--key sk_test_…] [--webhook URL]... [--webhook-secret whsec_…]'

/** The stand-in as a process: prints its address and the secrets of its webhooks, ends on SIGTERM and SIGINT. */
export const runAlone = async (start: (options: PaymentOptions) => Promise<PaymentStandIn>) => {
  const options = readOptions(process.argv.slice(2))
  if (!options) {
    console.error(usage)
    process.exitCode = 2
    return
  }
  const {webhooks, ...rest} = options
  const payment = await start(rest)
  console.log(payment.url)
  for (const url of webhooks) console.log(`${url} ${payment.addEndpoint(url).secret}`)
  const end = () => void payment.stop().then(() => process.exit(0))
  process.once('SIGTERM', end)
  process.once('SIGINT', end)
}

const readOptions = (args: string[]): (PaymentOptions & {webhooks: string[]}) | null => {
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
      },
    })
    const {port, host, seed, at, key, webhook, 'webhook-secret': secret} = values
    return {
      port: Number(port),
      host,
      webhooks: webhook,
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
