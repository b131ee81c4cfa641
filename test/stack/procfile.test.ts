import {spawn} from 'node:child_process'
import {once} from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import {join} from 'node:path'
import {createInterface} from 'node:readline'
import test, {type ExecutionContext} from 'ava'
import {until} from '../support/until.ts'
import {readProcfile, startProcfile} from './procfile.ts'
import {isRunning} from './running.ts'

/** Small programs, one for each behaviour. */
const programs = {
  'steady.mjs': `console.log('steady as ' + process.env.NAME); setInterval(() => {}, 1000)`,
  'deaf.mjs': `process.on('SIGTERM', () => console.log('not listening')); console.log('deaf'); setInterval(() => {}, 1000)`,
  'done.mjs': `console.log('released')`,
  'broken.mjs': `console.error('no such table'); process.exit(3)`,
}

const folder = (t: ExecutionContext, procfile: string) => {
  const made = fs.mkdtempSync(join(os.tmpdir(), 'lading-procfile-'))
  t.teardown(() => fs.rmSync(made, {recursive: true, force: true}))
  for (const [name, text] of Object.entries({...programs, Procfile: procfile})) fs.writeFileSync(join(made, name), text)
  return made
}

const start = async (t: ExecutionContext, procfile: string, {graceSeconds}: {graceSeconds?: number} = {}) => {
  const cwd = folder(t, procfile)
  const said: string[] = []
  const output = (name: string, line: string) => said.push(`${name}: ${line}`)
  const supervisor = await startProcfile({path: join(cwd, 'Procfile'), cwd, env: {NAME: 'a rock'}, output, graceSeconds})
  t.teardown(() => supervisor.stop())
  const pid = (name: string) => supervisor.processes.get(name)?.pid as number
  return {supervisor, said, pid}
}

test('a Procfile consists of names and commands, and shell syntax is refused', t => {
  t.deepEqual(readProcfile('# ours\n\nweb: node api/server.ts\nworker-2:  node a.ts  b\n'), [
    {name: 'web', command: ['node', 'api/server.ts']},
    {name: 'worker-2', command: ['node', 'a.ts', 'b']},
  ])
  for (const line of ['web node', 'web:', 'web: node a.ts | tee log', 'web: node "a b.ts"', 'web: node $FILE'])
    t.throws(() => readProcfile(line), {message: /^Procfile line 1 /}, line)
})

test("the repository's Procfile is readable and names a release, the API and its workers", t => {
  const lines = readProcfile(fs.readFileSync(new URL('../../Procfile', import.meta.url), 'utf8'))
  t.deepEqual(lines.map(({name}) => name).slice(0, 2), ['release', 'web'])
  for (const {command} of lines) t.regex(command.join(' '), /^(env (\w+=\w+ )+)?node .*\w\.ts\b/)
})

test('the release command runs to its end before other processes start', async t => {
  const {said, supervisor} = await start(t, 'web: node steady.mjs\nrelease: node done.mjs')
  await until(() => said.length === 2, Boolean)
  t.deepEqual(said, ['release: released', 'web: steady as a rock'])
  t.deepEqual([...supervisor.processes.keys()], ['web'])
})

test('a failing release command is reported with its output, and starts nothing', async t => {
  await t.throwsAsync(start(t, 'release: node broken.mjs\nweb: node steady.mjs'), {
    message: /release \(node broken.mjs\) ended with 3:\nno such table/,
  })
})

test('a killed process is replaced', async t => {
  const {supervisor, said, pid} = await start(t, 'worker: node steady.mjs')
  await until(() => said.length === 1, Boolean)
  const first = pid('worker')
  process.kill(first, 'SIGKILL')
  await until(() => said.filter(line => line === 'worker: steady as a rock').length === 2, Boolean)
  t.not(pid('worker'), first)
  t.is(supervisor.processes.get('worker')?.starts, 2)
  t.true(said.includes('worker: ended with SIGKILL; starting it again in 200 ms'))
})

test('a process that keeps failing is restarted with growing delays', async t => {
  const {said} = await start(t, 'worker: node broken.mjs')
  await until(() => said.filter(line => line.includes('starting it again')).length === 3, Boolean)
  t.deepEqual(
    said.filter(line => line.includes('starting')).map(line => line.match(/in (\d+) ms/)?.[1]),
    ['200', '400', '800'],
  )
})

test('a stop sends SIGTERM first, then kills processes that ignore it', async t => {
  const {supervisor, said, pid} = await start(t, 'web: node steady.mjs\nworker: node deaf.mjs', {graceSeconds: 1})
  await until(() => said.length === 2, Boolean)
  const pids = [pid('web'), pid('worker')]
  await supervisor.stop()
  t.deepEqual(pids.filter(isRunning), [])
  t.true(said.includes('worker: not listening'))
})

test('no process outlives a killed runner', async t => {
  const cwd = folder(t, 'web: node steady.mjs\nworker: node deaf.mjs')
  const script = `
    const {startProcfile} = await import(${JSON.stringify(new URL('procfile.ts', import.meta.url).href)})
    const {processes} = await startProcfile({path: 'Procfile', cwd: process.cwd(), env: {}, graceSeconds: 1, output: () => {
      if (++said === 2) console.log(JSON.stringify([...processes.values()].map(({pid}) => pid)))
    }})
    let said = 0`
  const runner = spawn(process.execPath, ['--input-type=module', '-e', script], {cwd, stdio: ['ignore', 'pipe', 'inherit']})
  const [line] = await once(createInterface({input: runner.stdout}), 'line')
  const pids: number[] = JSON.parse(line)
  t.deepEqual(pids.filter(isRunning), pids)
  runner.kill('SIGKILL')
  await until(() => !pids.some(isRunning), Boolean)
  t.is(pids.length, 2)
})
