import type {AddressInfo} from 'node:net'
import {runAlone} from './payment/command-line.ts'
import {openServer, type ServerOptions} from './payment/server.ts'
import {createStandIn, type StandIn} from './payment/stand-in.ts'
import type {WorldOptions} from './payment/world.ts'

export type PaymentOptions = WorldOptions & Partial<ServerOptions>

export type PaymentStandIn = StandIn & {
  url: string
  port: number
  /** Ends every call and closes the port. */
  stop: () => Promise<void>
}

/** Starts the payment provider's stand-in on the loopback interface; port 0, the default, takes any free one. */
export const startPayment = async ({host = '127.0.0.1', port = 0, check, ...options}: PaymentOptions = {}): Promise<PaymentStandIn> => {
  const standIn = createStandIn(options)
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

if (import.meta.main) await runAlone(startPayment)
