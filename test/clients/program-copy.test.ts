import {spawn} from 'node:child_process'
import fs from 'node:fs'
import {dirname, join} from 'node:path'
import {buffer} from 'node:stream/consumers'
import {pathToFileURL} from 'node:url'
import test from 'ava'
import {openHome} from '../support/cli-process.ts'
import {installPackage} from '../support/installed-package.ts'

test('commands that start at the same time use one copy of the program, and copies that others use stay', async t => {
  const home = openHome()
  const clients = dirname(await installPackage(home.here, ['amaro']))
  const at = (path: string) => JSON.stringify(pathToFileURL(join(clients, path)).href)
  const script = `await import(${at('strip-types.js')}); console.log((await import(${at('cli/program-copy.ts')})).openProgram('data'))`
  const open = async () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {cwd: home.here, stdio: ['ignore', 'pipe', 'inherit']})
    return String(await buffer(child.stdout)).trim()
  }
  const place = join(home.here, 'data', 'program')
  const opened = await Promise.all([open(), open(), open()])
  t.is(new Set(opened).size, 1)
  const copy = join(home.here, opened[0]!)
  t.deepEqual(
    fs.readdirSync(place).map(name => join(place, name)),
    [dirname(copy)],
    'no draft is left',
  )
  t.true(fs.existsSync(join(copy, 'api', 'app.ts')))
  t.is(fs.realpathSync(join(dirname(copy), 'node_modules')), fs.realpathSync(join(home.here, 'node_modules')))

  const [now, old] = [Date.now() / 1000, Date.now() / 1000 - 8 * 86_400]
  for (const [name, usedAt] of [
    ['used', now],
    ['draft.1', now],
    ['unused', old],
    ['draft.2', old],
  ] as const) {
    fs.mkdirSync(join(place, name, 'lading'), {recursive: true})
    fs.utimesSync(join(place, name), usedAt, usedAt)
  }
  fs.utimesSync(dirname(copy), old, old)
  t.is(await open(), opened[0])
  t.deepEqual(fs.readdirSync(place).sort(), ['used', 'draft.1', opened[0]!.split('/').at(-2)].sort())
})
