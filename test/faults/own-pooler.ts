import {type ChildProcess, spawn} from 'node:child_process'
import {once} from 'node:events'
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import pg from 'pg'
import {freePort} from '../stack/port.ts'
import {until} from '../support/until.ts'
import type {Stage} from './scenario.ts'

/** A PgBouncer in transaction mode for one scenario. */
export type OwnPooler = {
  /** The URL of the database through the pooler. */
  url: string
  /** Kills the pooler with SIGKILL and starts the pooler again on the same port. */
  restart(): Promise<void>
}

/** Few server connections, so that the processes must share them. */
const serverConnections = 8

/** Starts a PgBouncer in front of the database at `target`. The program must be on the PATH; Debian's package is `pgbouncer`. */
export const openOwnPooler = async (stage: Stage, target: string): Promise<OwnPooler> => {
  const directory = mkdtempSync(join(tmpdir(), 'lading-pooler-'))
  stage.begun(async () => rmSync(directory, {recursive: true, force: true}))
  const port = await freePort()
  const file = join(directory, 'pgbouncer.ini')
  writeFileSync(file, settingsOf(target, port), {mode: 0o644})
  const url = urlOf(target, port)
  const start = async () => {
    const child = spawn('pgbouncer', [...runAs(), '-q', file], {stdio: 'ignore'})
    await once(child, 'spawn')
    await until(() => isAnswering(url), Boolean)
    return child
  }
  let child = await start()
  stage.begun(() => end(child, 'SIGINT'))
  return {
    url,
    async restart() {
      await end(child, 'SIGKILL')
      child = await start()
    },
  }
}

/** PgBouncer refuses to run as root. */
const runAs = () => (process.getuid?.() === 0 ? ['-u', 'nobody'] : [])

const settingsOf = (target: string, port: number) => {
  const {hostname, port: behind, username, password, pathname} = new URL(target)
  return [
    '[databases]',
    `* = host=${hostname} port=${behind} dbname=${pathname.slice(1)} user=${username} password=${password}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    'max_client_conn = 500',
    `default_pool_size = ${serverConnections}`,
    // The settings that docs/operations.md recommends. By default a query waits two minutes for a server.
    'server_login_retry = 1',
    'server_connect_timeout = 3',
    'query_wait_timeout = 4',
    '',
  ].join('\n')
}

const urlOf = (target: string, port: number) => {
  const url = new URL(target)
  url.port = String(port)
  url.searchParams.set('pooler', 'transaction')
  return url.href
}

const isAnswering = async (url: string) => {
  const client = new pg.Client({connectionString: url, connectionTimeoutMillis: 1_000})
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('select 1')
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}

const end = async (child: ChildProcess, signal: NodeJS.Signals) => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill(signal)
  await ended
}
