import {type ChildProcess, spawn, spawnSync} from 'node:child_process'
import {randomBytes} from 'node:crypto'
import fs from 'node:fs'
import {dirname, join} from 'node:path'
import {setTimeout as sleep} from 'node:timers/promises'
import {type Keeper, openKeeper} from './keeper.ts'
import {freePort} from './port.ts'
import {claimDirectory, endOrphan, readLines} from './postgres-owner.ts'
import {findPlace, type Place} from './postgres-place.ts'

export type Cluster = {
  url: string
  port: number
  /** Where the cluster really is: `data/`, `password`, `postgres.log`. Not always the directory asked for. */
  directory: string
  /** Resolves when Postgres has ended, for whatever reason. Like the rest of a cluster it keeps no process alive. */
  ended: Promise<void>
  stop(): Promise<void>
}

/** What a throwaway cluster gives up is only its own life after a crash of the machine; concurrency is as in earnest. */
export const throwaway = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'shared_buffers=256MB', 'max_wal_size=4GB']
const readyWithinSeconds = 60

/**
 * Starts a real PostgreSQL of its own on a free port of 127.0.0.1. It ends with this process, however that ends.
 * With `keep` the directory is used again by the next start; without, it is removed.
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
    const password = initialise(place, keep)
    const {port, ended} = await launch(place, flags ?? (keep ? [] : throwaway), keeper)
    return {url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`, port, directory: place.directory, ended, stop}
  } catch (error) {
    await stop()
    throw error
  }
}

/** Leads whoever looks where the data was asked for to where it is. Whoever has removed the link wanted the data gone. */
const link = (from: string, to: string) => {
  if (fs.lstatSync(from, {throwIfNoEntry: false})) return
  fs.rmSync(join(to, 'data'), {recursive: true, force: true})
  fs.mkdirSync(dirname(from), {recursive: true})
  fs.symlinkSync(to, from)
}

/**
 * The password is random because every account of the machine reaches the port, and whoever gets in as the superuser runs
 * programs as our user. One SCRAM iteration, since 192 random bits need no stretching and each connection would pay for it.
 */
const initialise = ({account, directory, binaries}: Place, keep: boolean) => {
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
  const {status, stderr, error} = spawnSync(join(binaries, 'initdb'), args, {...account, cwd: '/', env: environment(), encoding: 'utf8'})
  if (status !== 0) throw new Error(`initdb failed: ${error?.message ?? stderr.trim()}`)
  fs.renameSync(draft, passwordFile)
  return password
}

/** Nothing of the caller's: PGDATA, PGPORT or a locale this machine lacks would each lead the programs astray. */
const environment = () => ({PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC'})

/** A port that was free a moment ago may be taken by now: another is tried. */
const launch = async (place: Place, flags: string[], keeper: Keeper) => {
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

/** Its output goes to a file it owns itself, never through us: a pipe would break when we die and take it down unclean. */
const spawnPostgres = ({account, directory, binaries}: Place, {port, log, flags}: {port: number; log: string; flags: string[]}) => {
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

/** The directory is another user's when we are root: what he may have put in our way, a link say, is never written through. */
const openNew = (path: string) => {
  fs.rmSync(path, {force: true})
  return fs.openSync(path, 'wx', 0o600)
}

/** Null once it takes connections, else how it failed. The eighth line of the lock file is where Postgres says so itself. */
const readiness = async (child: ChildProcess, directory: string) => {
  for (const until = Date.now() + readyWithinSeconds * 1000; Date.now() < until; ) {
    if (!child.pid || child.exitCode !== null || child.signalCode !== null) return `ended (${child.exitCode ?? child.signalCode})`
    const lines = readLines(join(directory, 'data', 'postmaster.pid'))
    if (Number(lines[0]) === child.pid && lines[7]?.trim() === 'ready') return null
    await sleep(10)
  }
  return `is not ready after ${readyWithinSeconds} seconds`
}
