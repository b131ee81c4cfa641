import type {AddressInfo} from 'node:net'
import {runAlone} from './crm/command-line.ts'
import {openServer} from './crm/server.ts'
import {openSnapshot} from './crm/snapshot.ts'
import {createStandIn, type StandIn} from './crm/stand-in.ts'
import type {WorldOptions} from './crm/world.ts'

export type CrmOptions = WorldOptions & {
  /** 0, the default, takes any free port. */
  port?: number
  /** Serves /__sim. */
  control?: boolean
  /** A file the state is kept in between starts. */
  snapshot?: string
  /** What it calls itself where something stands before it. */
  publicUrl?: string
  /** How long an idle connection stays open; short ones make callers meet a socket that has just been closed. */
  keepAliveMs?: number
}

export type CrmStandIn = Omit<StandIn, 'world' | 'changed'> & {
  url: string
  port: number
  /** Ends every call and closes the port; the snapshot is written once more. */
  stop: () => Promise<void>
}

/** Starts the CRM's stand-in on the loopback interface. */
export const startCrm = async ({
  port = 0,
  control = false,
  snapshot,
  publicUrl,
  keepAliveMs = 65_000,
  ...options
}: CrmOptions = {}): Promise<CrmStandIn> => {
  let changed = () => {}
  const standIn = createStandIn(options, () => changed())
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
