import {execFile, spawn} from 'node:child_process'
import {once} from 'node:events'
import {availableParallelism} from 'node:os'
import {text} from 'node:stream/consumers'
import {setTimeout as pass} from 'node:timers/promises'
import {promisify} from 'node:util'
import test from 'ava'

/** A program that evaluates rows of some 20 ms, one per call, so that a row is running whenever the process is stopped. */
const script = `
  import {openSandbox} from '${new URL('../../../shared/expressions/sandbox.ts', import.meta.url)}'
  const sandbox = openSandbox()
  const batch = {expressions: {a: 'Array(60000).fill(1).map((n, at) => n + at).length'}, rows: [{}], clock: 0, seed: ''}
  await sandbox.evaluate(batch)
  process.send('ready')
  const wrong = []
  let asked = true
  process.once('message', () => { asked = false })
  while (asked) {
    const [{a}] = await sandbox.evaluate(batch)
    if (a.value !== 60000) wrong.push(a)
  }
  await sandbox.close()
  console.log(JSON.stringify(wrong))
  process.disconnect()`

test('a row is not blamed for time in which the whole process was stopped', async t => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {stdio: ['ignore', 'pipe', 'inherit', 'ipc']})
  const said = text(child.stdout!)
  await once(child, 'message')
  for (let stop = 0; stop < 3; stop++) {
    child.kill('SIGSTOP')
    await pass(700)
    child.kill('SIGCONT')
    await pass(200)
  }
  child.send('enough')
  t.deepEqual(JSON.parse(await said), [])
})

/** A program that evaluates a row far beyond its time limit, in a thread of the lowest priority. */
const starving = `
  import {readdirSync} from 'node:fs'
  import {constants, setPriority} from 'node:os'
  import {prepareProgram} from '${new URL('../../../shared/expressions/program.ts', import.meta.url)}'
  import {startThread} from '${new URL('../../../shared/expressions/sandbox-thread.ts', import.meta.url)}'
  const threads = () => readdirSync('/proc/self/task').map(Number)
  const others = new Set(threads())
  const thread = startThread(150)
  const {program} = prepareProgram({expressions: {a: 'Array(100000000).join("x")'}}, null)
  await thread.ask({kind: 'define', program})
  for (const id of threads()) if (!others.has(id)) setPriority(id, constants.priority.PRIORITY_LOW)
  const head = {first: 0, width: 0, numbers: [0], clock: 0, seed: '', alone: true}
  const {fault, certain} = await thread.ask({kind: 'run', rows: '[null]', head})
  await thread.end()
  console.log(fault, certain)`

test('a row that got no processor time is not certainly to blame', async t => {
  const busy = () => spawn(process.execPath, ['-e', 'console.log("on"); for (;;) {}'], {stdio: ['ignore', 'pipe', 'inherit']})
  const others = Array.from({length: availableParallelism() * 4}, busy)
  t.teardown(() => others.map(each => each.kill('SIGKILL')))
  await Promise.all(others.map(({stdout}) => once(stdout, 'data')))
  const {stdout} = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', starving], {timeout: 60_000})
  t.is(stdout.trim(), 'EXPRESSION_TIMEOUT false')
})
