import {randomBytes} from 'node:crypto'
import fs from 'node:fs'
import {join} from 'node:path'
import {setTimeout as sleep} from 'node:timers/promises'
import {fileURLToPath} from 'node:url'
import {openKeeper} from './keeper.ts'
import {freePort} from './port.ts'
import {startPostgres} from './postgres.ts'
import {startProcfile} from './procfile.ts'
import {type Output, openSupervisor, type Supervised, type Supervisor} from './supervisor.ts'

export type Stack = {
  apiUrl: string
  crmUrl: string
  databaseUrl: string
  processes: Map<string, Supervised>
  /** Resolves when our own Postgres has ended; never when `DATABASE_URL` names another. */
  databaseEnded: Promise<void>
  stop(): Promise<void>
  /** At once, without asking. */
  kill(): void
}

type StackOptions = {
  directory: string
  keep: boolean
  /** The ports to take when they are free; others otherwise. */
  ports?: {api?: number; crm?: number}
  env?: Record<string, string | undefined>
  output?: Output
}

export const root = fileURLToPath(new URL('../..', import.meta.url))
const readyWithinSeconds = 45
const startsBeforeGivingUp = 4

/** The whole service on one machine: Postgres (unless `DATABASE_URL` names one), the CRM stand-in, every line of the Procfile. */
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

/** Each part is put into `started` as soon as it runs, so that a later one's failure takes it down again. */
const startParts = async ({directory, keep, ports = {}, env = {}, output}: StackOptions, started: Stoppable[]) => {
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
  const crmUrl = await startStandIn(outside, {port: await freePort(ports.crm), snapshot: keep ? join(directory, 'crm.json') : null})
  const port = await freePort(ports.api)
  const apiUrl = `http://127.0.0.1:${port}`
  const settings = {...settingsOf({directory, apiUrl, crmUrl, port}), DATABASE_URL: databaseUrl, ...env}
  const service = begun(await startProcfile({path: join(root, 'Procfile'), cwd: root, env: settings, output}))
  await answers(`${apiUrl}/health`, service.processes.get('web')!, ({ok}) => ok)
  const processes = new Map([...outside.processes, ...service.processes])
  return {apiUrl, crmUrl, databaseUrl, processes, databaseEnded: cluster?.ended ?? new Promise<void>(() => {})}
}

type Stoppable = {stop(): Promise<void>; kill?(): void}

const startStandIn = async (outside: Supervisor, {port, snapshot}: {port: number; snapshot: string | null}) => {
  const kept = snapshot ? ['--snapshot', snapshot] : []
  const standIn = outside.start({name: 'crm', command: ['node', 'test/simulators/crm.ts', '--port', `${port}`, '--control', ...kept]})
  const url = `http://127.0.0.1:${port}`
  await answers(url, standIn, () => true)
  return url
}

type Settings = {directory: string; apiUrl: string; crmUrl: string; port: number}

/** Drains within the ten seconds after which the supervisor kills. */
const settingsOf = ({directory, apiUrl, crmUrl, port}: Settings) => ({
  ...secretsIn(directory),
  PORT: `${port}`,
  PUBLIC_URL: apiUrl,
  STORAGE_DIR: join(directory, 'storage'),
  CRM_STANDIN_URL: crmUrl,
  CRM_CLIENT_ID: '1000.LADING',
  CRM_CLIENT_SECRET: 'stand-in-secret',
  LOG_LEVEL: process.env.LOG_LEVEL ?? 'warn',
  DRAIN_SECONDS: '8',
})

/** Made once per directory, so that grants sealed and sessions signed by an earlier start are good in the next. */
const secretsIn = (directory: string): {SECRETS_KEYS: string; SESSION_KEYS: string} => {
  const path = join(directory, 'secrets.json')
  if (!fs.existsSync(path)) {
    const key = () => `local:${randomBytes(32).toString('base64')}`
    fs.writeFileSync(path, JSON.stringify({SECRETS_KEYS: key(), SESSION_KEYS: key()}), {mode: 0o600})
  }
  return JSON.parse(fs.readFileSync(path, 'utf8'))
}

/** Waits until the address answers as wanted; gives up when the process dies again and again, and says its last words. */
const answers = async (url: string, watched: Supervised, isGood: (response: Response) => boolean) => {
  for (const until = Date.now() + readyWithinSeconds * 1000; Date.now() < until && watched.starts < startsBeforeGivingUp; ) {
    const response = await fetch(url, {signal: AbortSignal.timeout(2000), redirect: 'manual'}).catch(() => null)
    await response?.body?.cancel()
    if (response && isGood(response)) return
    await sleep(50)
  }
  throw new Error(`${watched.name} does not answer at ${url}. Its last words:\n${watched.tail.join('\n') || '(nothing)'}`)
}
