import {spawn} from 'node:child_process'
import {once} from 'node:events'
import {text} from 'node:stream/consumers'
import {setTimeout as pass} from 'node:timers/promises'
import test from 'ava'

/** Rows of some 20 ms of work each, one a call, so that wherever the process is stopped a row is under way. */
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

test('a row is not blamed for the time in which the whole process stood still', async t => {
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
