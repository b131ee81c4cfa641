import {execFile, spawn} from 'node:child_process'
import {once} from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {promisify} from 'node:util'
import test, {type ExecutionContext} from 'ava'
import {openCalls} from '../support/client.ts'
import {descendantsOf} from '../support/descendants.ts'
import {until} from '../support/until.ts'
import {openClient} from './client.ts'
import {connect} from './journey.ts'
import {isRunning} from './running.ts'

/** The folder of this checkout, in which the tests run `npm start`. */
const root = fileURLToPath(new URL('../..', import.meta.url))
const email = 'ana@example.org'

const startStack = async (t: ExecutionContext, directory: string) => {
  const {DATABASE_URL: _, NODE_ENV: __, ...env} = process.env
  const npm = spawn('npm', ['start', '--', '--directory', directory], {cwd: root, env, stdio: ['ignore', 'pipe', 'pipe']})
  let output = ''
  for (const stream of [npm.stdout, npm.stderr]) stream.setEncoding('utf8').on('data', text => (output += text))
  t.teardown(() => npm.kill('SIGTERM'))
  await until(
    () => output,
    text => text.includes('curl -H') || npm.exitCode !== null,
    120,
  )
  const [, api] = /Widget\s+(http:\/\/[^/]+)\//.exec(output) ?? []
  if (!api) throw new Error(`npm start did not come up: ${output}`)
  const pids = await descendantsOf(npm.pid!)
  t.teardown(() => {
    for (const pid of pids.filter(isRunning)) process.kill(pid, 'SIGKILL')
  })
  const stop = async () => {
    process.kill(npm.pid!, 'SIGTERM')
    await until(
      () => pids.filter(isRunning),
      running => running.length === 0,
      60,
    )
  }
  return {api, pids, stop, call: openCalls(api)(fs.readFileSync(join(directory, 'session'), 'utf8'))}
}

const occupy = async (port: number) => {
  const server = net.createServer()
  server.listen(port, '127.0.0.1')
  await Promise.race([once(server, 'listening'), once(server, 'error')])
  return () => server.close()
}

const portsIn = (directory: string): {crm: number} => JSON.parse(fs.readFileSync(join(directory, 'ports.json'), 'utf8'))

test('SIGTERM to npm ends every process, and saved connections survive taken ports', async t => {
  t.timeout(400_000)
  const folder = fs.mkdtempSync(join(os.tmpdir(), 'lading-start-'))
  t.teardown(() => fs.rmSync(folder, {recursive: true, force: true}))
  const directory = join(folder, '.data', 'start')
  // Occupies the usual port of the CRM stand-in, unless another program uses it.
  t.teardown(await occupy(4010))

  const first = await startStack(t, directory)
  t.true(first.pids.length > 5, 'Postgres, the stand-ins, the API and the workers')
  const {org} = (await first.call('GET', '/auth/me')).body
  const token = fs.readFileSync(join(directory, 'session'), 'utf8')
  await connect(openClient(first.api, token), first.api, org.id, email)
  const healthAt = async ({call}: {call: typeof first.call}) =>
    (await call('GET', `/auth/orgs/${org.id}/connection`)).body.connections.map(({health}: {health: string}) => health)
  t.deepEqual(await healthAt(first), ['ok'])
  const {crm} = portsIn(directory)
  t.not(crm, 4010)

  const switchTo = (to: string) => {
    const {DATABASE_URL: _, ...env} = process.env
    return promisify(execFile)(process.execPath, [join(root, 'api/maintenance-switch.ts'), to], {cwd: folder, env})
  }
  const codeNow = async () => (await first.call('GET', '/auth/me')).body.code
  await switchTo('on')
  await until(codeNow, code => code === 'MAINTENANCE')
  await switchTo('off')
  await until(codeNow, code => code === undefined)
  await first.stop()

  const second = await startStack(t, directory)
  t.is(portsIn(directory).crm, crm, 'the port of the last start')
  t.deepEqual(await healthAt(second), ['ok'])
  await second.stop()

  t.teardown(await occupy(crm))
  const third = await startStack(t, directory)
  t.not(portsIn(directory).crm, crm, 'another program has the port')
  t.deepEqual(await healthAt(third), ['ok'])
  await third.stop()
  t.false(fs.existsSync(join(directory, 'database')))
})
