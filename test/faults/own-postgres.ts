import {mkdtempSync, readFileSync, rmSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {setTimeout as sleep} from 'node:timers/promises'
import {type Cluster, startPostgres} from '../stack/postgres.ts'
import {createDatabase} from '../support/database.ts'
import {openProxy, type Proxy as Wire} from '../support/tcp-proxy.ts'
import type {Stage} from './scenario.ts'

/**
 * A separate Postgres for one scenario, with fsync as in production. Clients reach it through a proxy, whose address stays the same when
 * Postgres restarts.
 */
export type OwnPostgres = {
  wire: Wire
  /** URL of the scenario's database through the proxy. */
  url: string
  /** URL of the scenario's database without the proxy. */
  direct(): string
  /** Stops Postgres and starts it again. SIGINT ends connections and shuts down cleanly; SIGQUIT ends Postgres as a power failure does. */
  restart(how: 'SIGINT' | 'SIGQUIT'): Promise<void>
  /** Starts Postgres again if it has ended unexpectedly, as a supervisor would. */
  start(): Promise<void>
}

export const openOwnPostgres = async (
  stage: Stage,
  {directory = makeDirectory(stage), flags = []}: {directory?: string; flags?: string[]} = {},
): Promise<OwnPostgres> => {
  const start = () => startPostgres({directory, keep: true, flags})
  let cluster = await start()
  stage.begun(() => cluster.stop())
  const database = await createDatabase(`faults ${stage.asked.seed}`, cluster.url)
  const wire = await openProxy(database.url)
  stage.begun(wire.close)
  const again = async () => {
    await cluster.ended
    await cluster.stop()
    cluster = await start()
    wire.aim(cluster.url)
  }
  return {
    wire,
    url: wire.url,
    direct: () => {
      const url = new URL(database.url)
      url.port = String(cluster.port)
      return url.href
    },
    async restart(how) {
      endPostgres(cluster, how)
      await again()
    },
    async start() {
      const {ended} = cluster
      const isOver = await Promise.race([ended.then(() => true), sleep(500, false)])
      if (isOver) await again()
    },
  }
}

/** Signals the postmaster. SIGINT ends connections and shuts Postgres down cleanly; SIGQUIT ends Postgres as a power failure does. */
export const endPostgres = ({directory}: Cluster, how: NodeJS.Signals) => {
  const [pid] = readFileSync(join(directory, 'data', 'postmaster.pid'), 'utf8').split('\n')
  process.kill(Number(pid), how)
}

const makeDirectory = (stage: Stage) => {
  const directory = mkdtempSync(join(tmpdir(), 'lading-faults-'))
  stage.begun(async () => rmSync(directory, {recursive: true, force: true}))
  return directory
}
