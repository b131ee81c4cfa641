import {cpSync} from 'node:fs'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import test from 'ava'
import {openHome} from '../support/cli-process.ts'
import {installPackage} from '../support/installed-package.ts'

const examples = fileURLToPath(new URL('../../examples', import.meta.url))

test('the installed package runs the example import tests, without a checkout or a server', async t => {
  const home = openHome()
  const command = [process.execPath, await installPackage(home.here)]
  cpSync(examples, join(home.here, 'examples'), {recursive: true})
  for (const time of ['first, with a copy of the service', 'again']) {
    const started = performance.now()
    const {code, out, err} = await home.run(['test', 'examples'], {command, seconds: 240})
    t.log(`${time}: ${Math.round((performance.now() - started) / 100) / 10} s`)
    t.is(code, 0, out + err)
    t.is(out.split('\n').filter(line => line.startsWith('passed')).length, 5, out)
  }
})
