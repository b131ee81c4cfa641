import {type ChildProcess, spawn, spawnSync} from 'node:child_process'
import {once} from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import {join} from 'node:path'
import {createInterface} from 'node:readline'
import test, {type ExecutionContext} from 'ava'
import pg from 'pg'
import {until} from '../support/until.ts'
import {type Cluster, startPostgres} from './postgres.ts'
import {readLines} from './postgres-owner.ts'
import {linkLibraries} from './postgres-place.ts'
import {isRunning} from './running.ts'

const isRoot = process.getuid?.() === 0

/** Creates a directory with a space in its name and access only for the current user. */
const folder = (t: ExecutionContext) => {
  const made = fs.mkdtempSync(join(os.tmpdir(), 'lading a test '))
  fs.chmodSync(made, 0o700)
  t.teardown(() => fs.rmSync(made, {recursive: true, force: true}))
  return made
}

const start = async (t: ExecutionContext, directory: string, keep: boolean) => {
  const cluster = await startPostgres({directory, keep})
  t.teardown(async () => {
    await cluster.stop()
    fs.rmSync(cluster.directory, {recursive: true, force: true})
  })
  return cluster
}

const query = async (url: string, text: string) => {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(text)).rows
  } finally {
    await client.end()
  }
}

const postmaster = ({directory}: Pick<Cluster, 'directory'>) => Number(readLines(join(directory, 'data', 'postmaster.pid'))[0])

/** Starts a cluster in another process, which waits to be killed. */
const startElsewhere = async (
  t: ExecutionContext,
  options: {directory: string; keep: boolean},
  account: {uid?: number; gid?: number} = {},
) => {
  const script = `
    const {startPostgres} = await import(${JSON.stringify(new URL('postgres.ts', import.meta.url).href)})
    console.log(JSON.stringify(await startPostgres(${JSON.stringify(options)})))
    setInterval(() => {}, 1000)`
  const args = ['--input-type=module', '-e', script]
  const parent = spawn(process.execPath, args, {...account, cwd: '/', stdio: ['ignore', 'pipe', 'inherit']})
  t.teardown(() => parent.kill('SIGKILL'))
  const [line] = await once(createInterface({input: parent.stdout}), 'line')
  const cluster: Cluster = JSON.parse(line)
  return {parent, cluster, pid: postmaster(cluster)}
}

const killed = async (child: ChildProcess) => {
  child.kill('SIGKILL')
  if (child.signalCode === null) await once(child, 'exit')
}

test('a PostgreSQL 18 starts for another user on a free port, requires its password and leaves nothing behind', async t => {
  const squatter = net.createServer().on('error', () => {})
  squatter.listen(5432, '127.0.0.1')
  t.teardown(() => void squatter.close())
  const cluster = await startPostgres({directory: join(folder(t), 'a clone', 'postgres'), keep: false})
  const [row] = await query(cluster.url, `select version(), current_setting('listen_addresses') as addresses, lower('ÄÉ') as lower`)
  t.like(row, {addresses: '127.0.0.1', lower: 'äé'})
  t.regex(`${row?.version}`, /^PostgreSQL 18\./)
  t.not(cluster.port, 5432)
  const guess = Object.assign(new URL(cluster.url), {password: 'postgres'})
  await t.throwsAsync(query(guess.href, 'select 1'), {message: /password authentication failed/})
  const pid = postmaster(cluster)
  await cluster.stop()
  t.false(isRunning(pid))
  t.false(fs.existsSync(cluster.directory))
})

test('a Postgres ends when its parent is killed, and its throwaway directory is removed', async t => {
  const {parent, cluster, pid} = await startElsewhere(t, {directory: join(folder(t), 'postgres'), keep: false})
  await killed(parent)
  await until(() => !isRunning(pid), Boolean)
  await until(() => !fs.existsSync(cluster.directory), Boolean)
  t.pass()
})

test('kept data survives a crash whose lock file names a reused process id', async t => {
  const directory = join(folder(t), 'postgres')
  const first = await start(t, directory, true)
  await query(first.url, 'create table kept as select 42 as answer')
  const pid = postmaster(first)
  process.kill(pid, 'SIGKILL')
  await until(() => !isRunning(pid), Boolean)
  await first.stop()
  const lock = join(first.directory, 'data', 'postmaster.pid')
  fs.writeFileSync(lock, fs.readFileSync(lock, 'utf8').replace(/^\d+/, `${process.pid}`))
  const second = await start(t, directory, true)
  t.is(second.directory, first.directory)
  t.deepEqual(await query(second.url, 'select answer from kept'), [{answer: 42}])
})

test('a removed directory gives an empty cluster, wherever the old data was', async t => {
  const directory = join(folder(t), 'postgres')
  const first = await start(t, directory, true)
  await query(first.url, 'create table kept as select 42 as answer')
  await first.stop()
  fs.rmSync(directory, {recursive: true})
  const second = await start(t, directory, true)
  t.deepEqual(await query(second.url, `select to_regclass('kept') as kept`), [{kept: null}])
})

test('a directory has one owner at a time', async t => {
  const directory = join(folder(t), 'postgres')
  const cluster = await start(t, directory, true)
  await t.throwsAsync(startPostgres({directory, keep: true}), {message: /is in use by another process/})
  t.deepEqual(await query(cluster.url, 'select 1 as one'), [{one: 1}])
})

test('a Postgres whose parent and keeper were killed is ended by the next start', async t => {
  if (process.platform !== 'linux') return t.pass('finds the keeper in /proc')
  const directory = join(folder(t), 'postgres')
  const {parent, pid} = await startElsewhere(t, {directory, keep: true})
  const children = readLines(`/proc/${parent.pid}/task/${parent.pid}/children`)[0]!.trim().split(' ').map(Number)
  const keeper = children.find(child => readLines(`/proc/${child}/cmdline`)[0]?.includes('keeper.sh'))!
  process.kill(keeper, 'SIGSTOP')
  await killed(parent)
  process.kill(keeper, 'SIGKILL')
  t.true(isRunning(pid))
  const cluster = await start(t, directory, true)
  t.false(isRunning(pid))
  t.deepEqual(await query(cluster.url, 'select 1 as one'), [{one: 1}])
})

test('a non-root user starts a cluster under the same user', async t => {
  if (!isRoot) return t.pass('only root can become another user')
  const [uid, gid] = ['-u', '-g'].map(flag => Number(spawnSync('id', [flag, 'nobody'], {encoding: 'utf8'}).stdout))
  const canRun = uid && gid && spawnSync(process.execPath, ['--check', import.meta.filename], {uid, gid, cwd: '/'}).status === 0
  if (!canRun) return t.pass('no such user, or it cannot read this folder')
  const shared = folder(t)
  fs.chownSync(shared, uid, gid)
  const {parent, cluster, pid} = await startElsewhere(t, {directory: join(shared, 'postgres'), keep: false}, {uid, gid})
  t.is(cluster.directory, join(shared, 'postgres'))
  t.is(fs.statSync(join(cluster.directory, 'data')).uid, uid)
  await killed(parent)
  await until(() => !isRunning(pid) && !fs.existsSync(cluster.directory), Boolean)
})

test('links between library versions are created where npm ran no install script', t => {
  const native = fs.mkdtempSync(join(os.tmpdir(), 'lading-native-'))
  t.teardown(() => fs.rmSync(native, {recursive: true, force: true}))
  fs.mkdirSync(join(native, 'lib'))
  fs.writeFileSync(join(native, 'lib', 'libpq.so.5.18'), 'library')
  const links = ['native/lib/libpq.so.5', 'native/lib/libpq.so'].map(target => ({source: 'native/lib/libpq.so.5.18', target}))
  fs.writeFileSync(join(native, 'pg-symlinks.json'), JSON.stringify(links))
  fs.symlinkSync('libpq.so.5.18', join(native, 'lib', 'libpq.so'))
  linkLibraries(native)
  linkLibraries(native)
  t.is(fs.readFileSync(join(native, 'lib', 'libpq.so.5'), 'utf8'), 'library')
  t.is(fs.readlinkSync(join(native, 'lib', 'libpq.so.5')), 'libpq.so.5.18')
})
