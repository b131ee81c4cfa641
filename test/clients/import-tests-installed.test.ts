import {cpSync} from 'node:fs'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import test from 'ava'
import {openHome} from '../support/cli-process.ts'
import {installPackage} from '../support/installed-package.ts'

const examples = fileURLToPath(new URL('../../examples', import.meta.url))

/** Time limit of the import tests in seconds. An idle machine with two processors takes less than ten. */
const longestSeconds = 15

/** Returns the elapsed time ÷ the processor time of a computation, at least 1. Other programs on the machine increase it. */
const slowdown = (): number => {
  const [started, before] = [performance.now(), process.cpuUsage()]
  let used = 0
  while (used < 500_000) {
    const {user, system} = process.cpuUsage(before)
    used = user + system
  }
  return Math.max(1, (performance.now() - started) / (used / 1000))
}

test('the installed package runs the example import tests, without a checkout or a server', async t => {
  const home = openHome()
  const command = [process.execPath, await installPackage(home.here)]
  cpSync(examples, join(home.here, 'examples'), {recursive: true})
  for (const time of ['first, with a copy of the service', 'again']) {
    const before = slowdown()
    const started = performance.now()
    const {code, out, err} = await home.run(['test', 'examples'], {command, seconds: 240})
    const seconds = (performance.now() - started) / 1000
    const factor = Math.max(before, slowdown())
    t.log(`${time}: ${seconds.toFixed(1)} s, on a machine that is ${factor.toFixed(1)} times slower than if idle`)
    t.true(seconds < longestSeconds * factor, `${seconds.toFixed(1)} s`)
    t.is(code, 0, out + err)
    t.is(out.split('\n').filter(line => line.startsWith('passed')).length, 5, out)
  }
})
