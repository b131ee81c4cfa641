import type {AddressInfo} from 'node:net'
import {parseArgs} from 'node:util'
import {openServer, type ServerOptions} from './payment/server.ts'
import {createSimulator, type Simulator} from './payment/simulator.ts'
import type {SimulatorStateOptions} from './payment/state.ts'
import {openSnapshot} from './payment/store.ts'
import {definedOf} from './payment/wire.ts'

export type PaymentOptions = SimulatorStateOptions & Partial<ServerOptions>

export type PaymentSimulator = Simulator & {
  url: string
  port: number
  stop: () => Promise<void>
}

/** Starts the payment provider stand-in on the loopback interface. Port 0, the default, uses any free port. */
export const startPayment = async ({host = '127.0.0.1', port = 0, check, ...options}: PaymentOptions = {}): Promise<PaymentSimulator> => {
  const standIn = createSimulator(options)
  const server = await openServer(standIn, {host, port, ...(check ? {check} : {})})
  const stop = async () => {
    standIn.faults.release()
    const {promise, resolve} = Promise.withResolvers<void>()
    server.close(() => resolve())
    server.closeAllConnections()
    await promise
  }
  const address = server.address() as AddressInfo
  return Object.assign(standIn, {url: standIn.world.baseUrl, port: address.port, stop})
}

const usage = `node test/simulators/payment.ts [--port 4020] [--host 127.0.0.1] [--seed TEXT] [--at INSTANT] [--key sk_test_…]
  [--webhook URL]... [--webhook-secret whsec_…] [--snapshot FILE] [--live]`

const tickMs = 1000

/** Runs the stand-in as a process: prints its address and webhook secrets, and stops on SIGTERM and SIGINT. */
const runAlone = async () => {
  const options = readOptions(process.argv.slice(2))
  if (!options) {
    console.error(usage)
    process.exitCode = 2
    return
  }
  const {webhooks, snapshot: file, isLive, ...rest} = options
  const payment = await startPayment(isLive ? {...rest, at: 0, signedAt: wallClock} : rest)
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

/** Makes the clock follow the real time, unless a caller moved it ahead. Executes actions that fell due while the process was not running. */
const live = (payment: PaymentSimulator) => {
  const tick = async () => {
    if (payment.now() < wallClock()) await payment.advanceTo(wallClock())
    setTimeout(tick, tickMs).unref()
  }
  void tick()
}

const text = {type: 'string'} as const

const readOptions = (args: string[]) => {
  try {
    const {values} = parseArgs({
      args,
      options: {
        port: {...text, default: '4020'},
        host: {...text, default: '127.0.0.1'},
        seed: text,
        at: text,
        key: text,
        'webhook-secret': text,
        snapshot: text,
        webhook: {...text, multiple: true, default: []},
        live: {type: 'boolean', default: false},
      },
    })
    const {port, host, seed, at, key: secretKey, webhook: webhooks, 'webhook-secret': webhookSecret, snapshot, live: isLive} = values
    return {port: Number(port), host, webhooks, snapshot, isLive, ...definedOf({seed, at, secretKey, webhookSecret})}
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    return null
  }
}

if (import.meta.main) await runAlone()
