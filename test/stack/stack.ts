import {randomBytes} from 'node:crypto'
import fs from 'node:fs'
import {join} from 'node:path'
import {setTimeout as sleep} from 'node:timers/promises'
import {fileURLToPath} from 'node:url'
import pg from 'pg'
import {openKeeper} from './keeper.ts'
import {freePort} from './port.ts'
import {startPostgres} from './postgres.ts'
import {startProcfile} from './procfile.ts'
import {openSale} from './sale.ts'
import {type Output, openSupervisor, type Supervised, type Supervisor} from './supervisor.ts'

export type Stack = {
  apiUrl: string
  crmUrl: string
  /** The URL of the payment stand-in; null if none runs. */
  paymentUrl: string | null
  databaseUrl: string
  /** Whether the API is in maintenance mode, in which it refuses sign-ins. */
  isInMaintenance: boolean
  processes: Map<string, Supervised>
  /** Resolves when the stack's own Postgres has ended; never if `DATABASE_URL` names another. */
  databaseEnded: Promise<void>
  stop(): Promise<void>
  /** Kills all processes at once. */
  kill(): void
}

type StackOptions = {
  directory: string
  keep: boolean
  /** The preferred ports. A port in use is replaced by a free one. With kept data, the stand-ins prefer the ports of the last start. */
  ports?: {api?: number; crm?: number; payment?: number}
  /** Whether to start a payment stand-in with products and prices. It does not start if the environment names a provider. */
  sells?: boolean
  env?: Record<string, string | undefined>
  output?: Output
}

export const root = fileURLToPath(new URL('../..', import.meta.url))
const readyWithinSeconds = 45
const startsBeforeGivingUp = 4

/** Starts the whole service on one machine: Postgres (unless `DATABASE_URL` names one), the stand-ins, and every line of the Procfile. */
export const startStack = async (options: StackOptions): Promise<Stack> => {
  const started: Stoppable[] = []
  const stop = async () => {
    for (const part of started.toReversed()) await part.stop()
  }
  const kill = () => {
    for (const part of started) part.kill?.()
  }
  try {
    return {...(await startParts(options, started)), stop, kill}
  } catch (error) {
    await stop()
    throw error
  }
}

/** Starts the parts. Adds each to `started` as soon as it runs, so that it is stopped if a later part fails. */
const startParts = async ({directory, keep, ports = {}, sells = false, env = {}, output}: StackOptions, started: Stoppable[]) => {
  const begun = <T extends Stoppable>(part: T) => {
    started.push(part)
    return part
  }
  fs.mkdirSync(directory, {recursive: true})
  const keeper = begun(openKeeper())
  if (!keep) keeper.remove(directory)
  const cluster = process.env.DATABASE_URL ? null : begun(await startPostgres({directory: join(directory, 'postgres'), keep}))
  const databaseUrl = cluster?.url ?? process.env.DATABASE_URL!
  const outside = begun(openSupervisor({cwd: root, env, output}))
  const portsFile = keep ? join(directory, 'ports.json') : null
  const last = readPorts(portsFile)
  const standIns = {crm: await freePort(last.crm ?? ports.crm), payment: await freePort(last.payment ?? ports.payment)}
  if (last.crm !== undefined && last.crm !== standIns.crm) await moveConnections(databaseUrl, {from: last.crm, to: standIns.crm})
  if (portsFile) fs.writeFileSync(portsFile, JSON.stringify(standIns))
  const crmUrl = await startStandIn(outside, {port: standIns.crm, snapshot: keep ? join(directory, 'crm.json') : null})
  const port = await freePort(ports.api)
  const apiUrl = `http://127.0.0.1:${port}`
  const payment =
    sells && !process.env.PAYMENT_API_KEY ? await startPaymentStandIn(outside, {port: standIns.payment, apiUrl, directory}) : null
  const secrets = secretsIn(directory)
  const settings = {...secrets, ...settingsOf({directory, apiUrl, crmUrl, port}), ...payment?.settings, DATABASE_URL: databaseUrl, ...env}
  const afterRelease = payment ? () => openSale(directory, {cwd: root, env: settings}) : undefined
  const service = begun(await startProcfile({path: join(root, 'Procfile'), cwd: root, env: settings, output, afterRelease}))
  await answers(`${apiUrl}/health`, service.processes.get('web')!, ({ok}) => ok)
  const isInMaintenance = (await fetch(`${apiUrl}/auth/me`)).status === 503
  const processes = new Map([...outside.processes, ...service.processes])
  return {
    apiUrl,
    crmUrl,
    paymentUrl: payment?.url ?? null,
    databaseUrl,
    isInMaintenance,
    processes,
    databaseEnded: cluster?.ended ?? new Promise<void>(() => {}),
  }
}

type Stoppable = {stop(): Promise<void>; kill?(): void}

type Ports = {crm?: number; payment?: number}

const readPorts = (path: string | null): Ports => (path && fs.existsSync(path) ? JSON.parse(fs.readFileSync(path, 'utf8')) : {})

/** Changes the port of the CRM stand-in in saved connections. Another program may use the port of the last start. */
const moveConnections = async (databaseUrl: string, {from, to}: {from: number; to: number}) => {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  try {
    const urls = [from, to].map(standInUrl)
    const {rows} = await client.query(`select to_regclass('connectors') is not null as "isMigrated"`)
    if (!rows[0].isMigrated) return
    const isThere = `api_domain = $1 or starts_with(api_domain, $1 || '/')`
    await client.query(`update connectors set api_domain = replace(api_domain, $1, $2) where ${isThere}`, urls)
  } finally {
    await client.end()
  }
}

const standInUrl = (port: number) => `http://127.0.0.1:${port}`

const startStandIn = async (outside: Supervisor, {port, snapshot}: {port: number; snapshot: string | null}) => {
  const kept = snapshot ? ['--snapshot', snapshot] : []
  const standIn = outside.start({name: 'crm', command: ['node', 'test/simulators/crm.ts', '--port', `${port}`, '--control', ...kept]})
  const url = standInUrl(port)
  await answers(url, standIn, () => true)
  return url
}

const startPaymentStandIn = async (outside: Supervisor, {port, apiUrl, directory}: {port: number; apiUrl: string; directory: string}) => {
  const key = 'sk_test_stand_in'
  const secret = 'whsec_of_the_stand_in'
  const told = ['--webhook', `${apiUrl}/billing/webhook`, '--webhook-secret', secret]
  const kept = ['--snapshot', join(directory, 'payment.json'), '--live']
  const standIn = outside.start({
    name: 'payment',
    command: ['node', 'test/simulators/payment.ts', '--port', `${port}`, '--key', key, ...told, ...kept],
  })
  const url = `http://127.0.0.1:${port}`
  await answers(`${url}/_sim/clock`, standIn, ({ok}) => ok)
  return {url, settings: {PAYMENT_API_KEY: key, PAYMENT_API_URL: url, PAYMENT_WEBHOOK_SECRETS: secret}}
}

type Settings = {directory: string; apiUrl: string; crmUrl: string; port: number}

/** The settings of the service. Draining takes less than the ten seconds after which the supervisor kills. */
const settingsOf = ({directory, apiUrl, crmUrl, port}: Settings) => ({
  PORT: `${port}`,
  PUBLIC_URL: apiUrl,
  STORAGE_DIR: join(directory, 'storage'),
  CRM_STANDIN_URL: crmUrl,
  CRM_CLIENT_ID: '1000.LADING',
  CRM_CLIENT_SECRET: 'stand-in-secret',
  LOG_LEVEL: process.env.LOG_LEVEL ?? 'warn',
  DRAIN_SECONDS: '8',
})

/** Returns the secrets. They are created once per directory, so that sealed grants and signed sessions of an earlier start stay valid. */
const secretsIn = (directory: string): {SECRETS_KEYS: string; SESSION_KEYS: string; ADMIN_TOKEN: string} => {
  const path = join(directory, 'secrets.json')
  const known = fs.existsSync(path) ? JSON.parse(fs.readFileSync(path, 'utf8')) : {}
  const key = () => `local:${randomBytes(32).toString('base64')}`
  const ADMIN_TOKEN = randomBytes(32).toString('hex')
  const secrets = {
    SECRETS_KEYS: key(),
    SESSION_KEYS: key(),
    ADMIN_TOKEN,
    ...known,
    ...(process.env.ADMIN_TOKEN && {ADMIN_TOKEN: process.env.ADMIN_TOKEN}),
  }
  fs.writeFileSync(path, JSON.stringify(secrets), {mode: 0o600})
  return secrets
}

/** Waits until the URL answers as wanted. Throws with the process's last output after 45 seconds, or if the process restarts too often. */
const answers = async (url: string, watched: Supervised, isGood: (response: Response) => boolean) => {
  for (const until = Date.now() + readyWithinSeconds * 1000; Date.now() < until && watched.starts < startsBeforeGivingUp; ) {
    const response = await fetch(url, {signal: AbortSignal.timeout(2000), redirect: 'manual'}).catch(() => null)
    await response?.body?.cancel()
    if (response && isGood(response)) return
    await sleep(50)
  }
  throw new Error(`${watched.name} does not answer at ${url}. Its last words:\n${watched.tail.join('\n') || '(nothing)'}`)
}
