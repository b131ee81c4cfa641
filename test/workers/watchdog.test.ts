import {spawn} from 'node:child_process'
import {once} from 'node:events'
import {createInterface} from 'node:readline'
import {setTimeout as sleep} from 'node:timers/promises'
import test, {type ExecutionContext} from 'ava'

const watchdog = new URL('../../workers/watchdog.ts', import.meta.url).href

/** A program that blocks its main thread for the ms in each input line, and ends when its input ends. */
const program = `
  import {createInterface} from 'node:readline'
  import {openLog} from '${new URL('../../shared/telemetry/log.ts', import.meta.url).href}'
  import {watchOver} from '${watchdog}'
  watchOver({name: 'watched', seconds: Number(process.argv[1]), log: openLog('watched', 'error')})
  console.log('up')
  for await (const line of createInterface(process.stdin)) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(line))
    console.log('done')
  }
  process.exit(0)
`

/** Starts a separate process that considers itself hung after `seconds`. */
const watched = async (t: ExecutionContext, seconds: number) => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', program, String(seconds)], {stdio: ['pipe', 'pipe', 'inherit']})
  t.teardown(() => void child.kill('SIGKILL'))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const next = async () => (await lines.next()).value as string | undefined
  t.is(await next(), 'up')
  const ended = once(child, 'exit')
  return {child, next, ended, hold: (ms: number) => child.stdin.write(`${ms}\n`)}
}

test('a process whose main thread hangs logs it and ends', async t => {
  const {child, next, ended, hold} = await watched(t, 3)
  hold(Number.POSITIVE_INFINITY)
  const told = JSON.parse((await next())!)
  t.like(told, {level: 60, name: 'watched', pid: child.pid, seconds: 3})
  t.regex(told.msg, /^hung: .* Start it again/)
  t.deepEqual(await ended, [null, 'SIGKILL'])
})

test('a process with long tasks that end is left running, however many there are', async t => {
  const {child, next, ended, hold} = await watched(t, 8)
  for (let n = 0; n < 3; n++) {
    hold(4_000)
    t.is(await next(), 'done')
    // Leaves time for one heartbeat between the tasks.
    await sleep(1_500)
  }
  child.stdin.end()
  t.deepEqual(await ended, [0, null])
})

test('a process that was frozen for longer than the limit is not ended when it wakes', async t => {
  const {child, next, ended, hold} = await watched(t, 3)
  child.kill('SIGSTOP')
  await sleep(5_000)
  child.kill('SIGCONT')
  hold(0)
  t.is(await next(), 'done')
  await sleep(4_500)
  child.stdin.end()
  t.deepEqual(await ended, [0, null])
})
