import {randomUUID} from 'node:crypto'
import {Readable} from 'node:stream'
import {parseArgs} from 'node:util'
import {openHot, sqlStateOf} from '../sql/database.ts'
import {readMigrationState, readServerVersion, readTimeouts} from '../sql/health.ts'
import {isPooled} from '../sql/pooler.ts'
import {directUrlOf, inspectSettings, readEnvironment, settingNames, storageOf} from './config.ts'
import {openStorage} from './storage/storage.ts'

/** The result of checking one setting. `text` says what was found or what to do. */
export type SettingFinding = {name: string; state: 'ok' | 'default' | 'problem'; text: string}

type Environment = Record<string, string | undefined>

const secret = /KEY|SECRET|TOKEN|CLIENTS|DATABASE_(DIRECT_)?URL|SMTP_URL/
/** The user and the password in a URL. */
const userInfo = /(?<=:\/\/)[^/?#]*@/
const oldestServer = 150_000
const undefinedTable = '42P01'

/** Checks every setting as production reads it. Writes only a probe object into the storage and removes the object again. */
export const checkSettings = async (environment: Environment): Promise<SettingFinding[]> => {
  const {problems, config, given} = inspectSettings({...environment, NODE_ENV: 'production'})
  const found = new Map(problems.flatMap(({names, message}) => names.map(name => [name, message])))
  if (environment.NODE_ENV !== 'production') found.set('NODE_ENV', 'Set NODE_ENV=production')
  const probed = new Map<string, string>()
  const probe = async (name: string, check: () => Promise<string>) => {
    if (found.has(name)) return
    await check().then(
      text => probed.set(name, text),
      error => found.set(name, (error as Error).message),
    )
  }
  await probe('DATABASE_URL', () => checkDatabase(config.DATABASE_URL))
  if (config.DATABASE_URL && (config.DATABASE_DIRECT_URL || isPooled(config.DATABASE_URL)))
    await probe('DATABASE_DIRECT_URL', async () => checkDirect(directUrlOf(config)))
  await probe(config.S3_BUCKET ? 'S3_BUCKET' : 'STORAGE_DIR', () => checkStorage(config))
  return settingNames.map(name => {
    const problem = found.get(name)
    if (problem !== undefined) return {name, state: 'problem', text: problem}
    const value = !given.includes(name) ? '' : secret.test(name) ? 'is set' : environment[name]!.replace(userInfo, '…@')
    const text = [value, probed.get(name)].filter(Boolean).join(', ')
    return {name, state: given.includes(name) ? 'ok' : 'default', text}
  })
}

const checkDatabase = async (url: string | undefined): Promise<string> => {
  if (!url) throw new Error('Set DATABASE_URL to a PostgreSQL of version 15 or later')
  const hot = openHot(url, {connections: 1})
  try {
    const number = await readVersion(hot)
    const version = `PostgreSQL ${Math.floor(number / 10_000)}`
    if (number < oldestServer) throw new Error(`The server is ${version}. Use version 15 or later`)
    const pending = await countPending(hot)
    if (pending === null) throw new Error(`${version} answers, but the schema is missing. Run npm run migrate`)
    if (pending > 0) throw new Error(`${version} answers, but ${pending} migrations are pending. Run npm run migrate`)
    if (!isPooled(url)) return `${version} answers, and the schema is current`
    const [timeouts] = await readTimeouts(hot, [])
    if (timeouts!.statement === '0' || timeouts!.transaction === '0') throw new Error(roleTimeouts)
    return `${version} answers through a pooler, and the schema is current`
  } finally {
    await hot.end()
  }
}

/** Checks the address that `npm run migrate` uses. */
const checkDirect = async (url: string): Promise<string> => {
  const hot = openHot(url, {connections: 1})
  try {
    await readVersion(hot)
    return 'the database answers'
  } finally {
    await hot.end()
  }
}

const readVersion = async (hot: ReturnType<typeof openHot>): Promise<number> => {
  const [server] = await readServerVersion(hot, []).catch(error => {
    throw new Error(`The database does not answer (${(error as Error).message}). Check the address, the password and the network`)
  })
  return server!.version
}

const roleTimeouts =
  "Behind a pooler, the role needs timeouts: alter role … set statement_timeout = '30s'; alter role … set idle_in_transaction_session_timeout = '10s'"

/** Returns the number of pending migrations; null if the database was never migrated. */
const countPending = async (hot: ReturnType<typeof openHot>): Promise<number | null> => {
  try {
    return (await readMigrationState(hot)).pending.length
  } catch (error) {
    if (sqlStateOf(error) === undefinedTable) return null
    throw error
  }
}

const checkStorage = async (config: Parameters<typeof storageOf>[0]): Promise<string> => {
  const storage = openStorage(storageOf(config))
  const key = `checks/${randomUUID()}`
  try {
    await storage.put(key, Readable.from([Buffer.from('probe')]))
    await storage.remove(key)
    return 'files can be written and removed'
  } catch (error) {
    const {message, cause} = error as Error
    throw new Error(`No file can be written (${cause instanceof Error ? cause.message : message}). Check the name and the rights`)
  }
}

const describe = (findings: SettingFinding[]): string => {
  const width = Math.max(...findings.map(({name}) => name.length))
  const lines = findings.map(({name, state, text}) => `${state.padEnd(7)}  ${name.padEnd(width)}  ${text}`.trimEnd())
  const problems = findings.filter(({state}) => state === 'problem').length
  const ending = problems === 0 ? 'All settings are fine.' : `${problems} ${problems === 1 ? 'setting needs' : 'settings need'} a change.`
  return [...lines, '', `${ending} docs/configuration.md explains each setting.`].join('\n')
}

// `lading up --check` runs this file. The exit code is 1 if a setting, the database or the storage has a problem.
if (import.meta.main) {
  const {values} = parseArgs({options: {json: {type: 'boolean', default: false}}})
  const findings = await checkSettings(readEnvironment())
  process.stdout.write(`${values.json ? JSON.stringify({settings: findings}, null, 2) : describe(findings)}\n`)
  process.exitCode = findings.some(({state}) => state === 'problem') ? 1 : 0
}
