import {spawn} from 'node:child_process'
import {once} from 'node:events'
import {createInterface} from 'node:readline'
import {fileURLToPath} from 'node:url'
import test from 'ava'
import {until} from '../support/until.ts'
import {isRunning} from './running.ts'
import {roomInMemory} from './shared-memory.ts'

const script = fileURLToPath(new URL('with-postgres.ts', import.meta.url))

/** Runs JavaScript through `with-postgres.ts`, and returns the value that it prints. */
const run = async (code: string, url?: string, flags: string[] = []) => {
  const env = {...process.env, DATABASE_URL: url}
  const runner = spawn(process.execPath, [script, ...flags, 'node', '-e', code], {env, stdio: ['ignore', 'pipe', 'inherit']})
  const exited = once(runner, 'exit')
  const [line] = await once(createInterface({input: runner.stdout}), 'line')
  return {runner, exited, said: JSON.parse(line)}
}

const sayAndStay = 'console.log(JSON.stringify([process.pid, process.env.DATABASE_URL])); setInterval(() => {}, 1000)'
const sayAndLeave = 'console.log(JSON.stringify(process.env.DATABASE_URL)); process.exitCode = 7'

test('the command gets a separate database, and its exit code is returned', async t => {
  const {said, exited} = await run(sayAndLeave)
  t.regex(said, /^postgres:\/\/postgres:\w+@127\.0\.0\.1:\d+\/postgres$/)
  t.deepEqual(await exited, [7, null])
})

test('a database that the caller names is used', async t => {
  const {said, exited} = await run(sayAndLeave, 'postgres://elsewhere/db')
  t.is(said, 'postgres://elsewhere/db')
  t.deepEqual(await exited, [7, null])
})

test('the database is kept in memory with --in-memory, if there is room', async t => {
  const ask = `const db = new (require('pg').Client)(process.env.DATABASE_URL)
    db.connect().then(() => db.query('show data_directory')).then(({rows: [{data_directory}]}) => {
      console.log(JSON.stringify(data_directory))
      process.exit(7)
    })`
  const before = roomInMemory()
  const {said, exited} = await run(ask, undefined, ['--in-memory'])
  // Other processes may have used the memory meanwhile.
  if (before === roomInMemory()) t.is(said.startsWith('/dev/shm/'), before !== null)
  t.deepEqual(await exited, [7, null])
})

test('a signal is passed on to the command, and the exit code is that of a shell', async t => {
  const {runner, exited} = await run(sayAndStay)
  runner.kill('SIGTERM')
  t.deepEqual(await exited, [143, null])
})

test('a killed runner takes the command with it', async t => {
  const {runner, said} = await run(sayAndStay)
  runner.kill('SIGKILL')
  await until(() => !isRunning(said[0]), Boolean)
  t.pass()
})
