import type {AddressInfo} from 'node:net'
import {runAlone} from './payment/command-line.ts'
import {openServer, type ServerOptions} from './payment/server.ts'
import {createSimulator, type Simulator} from './payment/simulator.ts'
import type {SimulatorStateOptions} from './payment/simulator-state.ts'

export type PaymentOptions = SimulatorStateOptions & Partial<ServerOptions>

export type PaymentSimulator = Simulator & {
  url: string
  port: number
  stop: () => Promise<void>
}

/** Starts the payment provider stand-in on the loopback interface; port 0, the default, takes any free one. */
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

if (import.meta.main) await runAlone(startPayment)
