import type {AddressInfo} from 'node:net'
import {runAlone} from './crm/command-line.ts'
import {openServer} from './crm/server.ts'
import {createSimulator, type Simulator} from './crm/simulator.ts'
import type {SimulatorStateOptions} from './crm/simulator-state.ts'
import {openSnapshot} from './crm/snapshot.ts'

export type CrmOptions = SimulatorStateOptions & {
  /** The port; 0, the default, uses any free port. */
  port?: number
  /** Whether the server answers control routes under /__sim. */
  control?: boolean
  /** The path of the file that keeps the state between starts. */
  snapshot?: string
  /** The base address in answers, if a proxy forwards to the stand-in. */
  publicUrl?: string
  /** The idle timeout of a connection in ms. With a short one, callers meet connections that just closed. */
  keepAliveMs?: number
}

export type CrmSimulator = Omit<Simulator, 'world' | 'changed'> & {
  url: string
  port: number
  /** Releases held calls, discards late requests, closes the port and writes the snapshot. */
  stop: () => Promise<void>
}

/** Starts the CRM stand-in on the loopback interface. */
export const startCrm = async ({
  port = 0,
  control = false,
  snapshot,
  publicUrl,
  keepAliveMs = 65_000,
  ...options
}: CrmOptions = {}): Promise<CrmSimulator> => {
  let changed = () => {}
  const standIn = createSimulator(options, () => changed())
  const kept = snapshot === undefined ? null : openSnapshot(standIn, snapshot)
  if (kept) changed = kept.changed
  const server = await openServer(standIn, {port, control, keepAliveMs})
  if (publicUrl !== undefined) standIn.world.baseUrl = publicUrl
  const stop = async () => {
    standIn.release()
    standIn.world.deliveries.cancel()
    const {promise, resolve} = Promise.withResolvers<void>()
    server.close(() => resolve())
    server.closeAllConnections()
    await promise
    kept?.close()
  }
  const address = server.address() as AddressInfo
  return Object.assign(standIn, {url: standIn.world.baseUrl, port: address.port, stop})
}

if (import.meta.main) await runAlone(startCrm)
