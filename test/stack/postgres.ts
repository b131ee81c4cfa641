import {type ChildProcess, spawn} from 'node:child_process'
import {randomBytes} from 'node:crypto'
import fs from 'node:fs'
import {dirname, join} from 'node:path'
import {setTimeout as sleep} from 'node:timers/promises'
import {type Keeper, openKeeper} from './keeper.ts'
import {freePort} from './port.ts'
import {claimDirectory, endOrphan, readLines} from './postgres-owner.ts'
import {findPlace, type PostgresPlace} from './postgres-place.ts'

export type Cluster = {
  url: string
  port: number
  /** The actual directory of the cluster, with `data/`, `password` and `postgres.log`. It may differ from the requested directory. */
  directory: string
  /** Resolves when Postgres has ended for any reason. Does not keep the process alive. */
  ended: Promise<void>
  stop(): Promise<void>
}

/** Settings for a throwaway cluster. It loses its data if the machine crashes, but has the concurrency of production. */
export const throwaway = [
  'fsync=off',
  'synchronous_commit=off',
  'full_page_writes=off',
  'shared_buffers=256MB',
  'max_wal_size=4GB',
  // The tests of retention alone open more than 300: about twenty deployments at once, with 14 connections each.
  'max_connections=600',
]
const readyWithinSeconds = 60

/**
 * Starts a PostgreSQL on a free port of 127.0.0.1, which ends when this process ends for any reason. `keep`: the next start uses the
 * directory again; otherwise it is removed.
 */
export const startPostgres = async ({directory, keep, flags}: {directory: string; keep: boolean; flags?: string[]}): Promise<Cluster> => {
  const place = findPlace({directory, keep})
  const claim = await claimDirectory(place.directory)
  const keeper = openKeeper()
  const stop = async () => {
    await keeper.stop()
    claim.release()
  }
  try {
    if (!keep) keeper.remove(place.directory)
    await endOrphan(join(place.directory, 'data'))
    if (keep && place.directory !== directory) link(directory, place.directory)
    const password = await initialise(place, {keep, keeper})
    const {port, ended} = await launch(place, flags ?? (keep ? [] : throwaway), keeper)
    return {url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`, port, directory: place.directory, ended, stop}
  } catch (error) {
    await stop()
    throw error
  }
}

/** Links the requested directory to the actual one. If an earlier link was removed, the data is deleted too. */
const link = (from: string, to: string) => {
  if (fs.lstatSync(from, {throwIfNoEntry: false})) return
  fs.rmSync(join(to, 'data'), {recursive: true, force: true})
  fs.mkdirSync(dirname(from), {recursive: true})
  fs.symlinkSync(to, from)
}

/**
 * Creates the cluster if it does not exist, and returns its password. The password is random because every user of the machine can reach
 * the port, and the superuser can run programs as our user. One SCRAM iteration is enough for 192 random bits, and every connection would
 * pay for more.
 */
const initialise = async ({account, directory, binaries}: PostgresPlace, {keep, keeper}: {keep: boolean; keeper: Keeper}) => {
  const passwordFile = join(directory, 'password')
  const data = join(directory, 'data')
  if (fs.existsSync(passwordFile) && fs.existsSync(join(data, 'PG_VERSION'))) return fs.readFileSync(passwordFile, 'utf8').trim()
  fs.rmSync(data, {recursive: true, force: true})
  const password = randomBytes(24).toString('hex')
  const draft = `${passwordFile}.new`
  const file = openNew(draft)
  fs.writeSync(file, password)
  if (account.uid && account.gid) fs.fchownSync(file, account.uid, account.gid)
  fs.closeSync(file)
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
  const access = ['--username=postgres', '--auth=scram-sha-256', `--pwfile=${draft}`, '--set=scram_iterations=1']
  const args = [`--pgdata=${data}`, ...locale, ...access, ...(keep ? [] : ['--no-sync'])]
  const child = spawn(join(binaries, 'initdb'), args, {...account, cwd: '/', env: environment(), stdio: ['ignore', 'ignore', 'pipe']})
  if (child.pid) keeper.run(child.pid, ['SIGINT', 'SIGKILL'])
  await succeed(child)
  if (child.pid) keeper.end(child.pid)
  fs.renameSync(draft, passwordFile)
  return password
}

/** Waits for `initdb`. Throws with its output if it fails. */
const succeed = async (child: ChildProcess) => {
  let said = ''
  child.stderr!.on('data', text => {
    said += text
  })
  const status = await new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve))
  if (status !== 0) throw new Error(`initdb failed: ${said.trim()}`)
}

const environment = () => ({PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC'})

/** Starts Postgres on a free port. Tries up to five ports, because another process may use a port before Postgres does. */
const launch = async (place: PostgresPlace, flags: string[], keeper: Keeper) => {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort()
    const log = join(place.directory, 'postgres.log')
    const child = spawnPostgres(place, {port, log, flags})
    const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
    if (child.pid) keeper.run(child.pid, ['SIGINT', 'SIGQUIT'])
    void ended.then(() => child.pid && keeper.end(child.pid))
    const failure = await readiness(child, place.directory)
    if (!failure) return {port, ended}
    const said = fs.readFileSync(log, 'utf8').trim().split('\n').slice(-15).join('\n')
    if (attempt === 5 || !said.includes('could not bind')) throw new Error(`Postgres ${failure}; its log ends:\n${said}`)
  }
}

/** Starts Postgres with its output in a file. A pipe would break when this process dies, and would end Postgres uncleanly. */
const spawnPostgres = ({account, directory, binaries}: PostgresPlace, {port, log, flags}: {port: number; log: string; flags: string[]}) => {
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', `port=${port}`, 'max_connections=300', ...flags]
  const output = openNew(log)
  const args = ['-D', join(directory, 'data'), ...settings.flatMap(setting => ['-c', setting])]
  const options = {...account, cwd: '/', env: environment(), detached: true}
  const child = spawn(join(binaries, 'postgres'), args, {...options, stdio: ['ignore', output, output]})
  fs.closeSync(output)
  child.once('error', () => {})
  child.unref()
  return child
}

/** Creates a file. An existing file or link is removed and not written to, because under root the directory belongs to another user. */
const openNew = (path: string) => {
  fs.rmSync(path, {force: true})
  return fs.openSync(path, 'wx', 0o600)
}

/** Returns null once Postgres accepts connections, otherwise how it failed. The eighth line of its lock file says when it is ready. */
const readiness = async (child: ChildProcess, directory: string) => {
  for (const until = Date.now() + readyWithinSeconds * 1000; Date.now() < until; ) {
    if (!child.pid || child.exitCode !== null || child.signalCode !== null) return `ended (${child.exitCode ?? child.signalCode})`
    const lines = readLines(join(directory, 'data', 'postmaster.pid'))
    if (Number(lines[0]) === child.pid && lines[7]?.trim() === 'ready') return null
    await sleep(10)
  }
  return `is not ready after ${readyWithinSeconds} seconds`
}
