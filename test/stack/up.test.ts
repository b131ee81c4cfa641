import {spawn} from 'node:child_process'
import {once} from 'node:events'
import fs from 'node:fs'
import {dirname, join} from 'node:path'
import test, {type ExecutionContext} from 'ava'
import {openHome} from '../support/cli-process.ts'
import {descendantsOf} from '../support/descendants.ts'
import {asNode20, installPackage} from '../support/installed-package.ts'
import {until} from '../support/until.ts'
import {freePort} from './port.ts'
import {isRunning} from './running.ts'

/** Runs `lading up` of the installed package as a separate process group: the command, the stack and everything it starts. */
const startUp = async (t: ExecutionContext, {cwd, command, port}: {cwd: string; command: string[]; port: number}) => {
  const args = [...command.slice(1), 'up', '--port', `${port}`]
  const child = spawn(command[0]!, args, {
    cwd,
    env: {...process.env, NODE_ENV: 'production'},
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', text => (output += text))
  t.teardown(() => child.kill('SIGTERM'))
  await until(
    () => output,
    text => text.includes('lading.js import') || child.exitCode !== null,
    120,
  )
  const pids = [child.pid!, ...(await descendantsOf(child.pid!))]
  t.teardown(() => {
    for (const pid of pids.filter(isRunning)) process.kill(pid, 'SIGKILL')
  })
  const stopped = () =>
    until(
      () => pids.filter(isRunning),
      running => running.length === 0,
      60,
    )
  return {child, pids, output, stopped}
}

test('lading up serves an import, ends with the process that started it, and resumes its data', async t => {
  t.timeout(400_000)
  const home = openHome()
  const command = [process.execPath, ...asNode20, await installPackage(home.here)]
  const port = await freePort()
  const [folder, data] = [home.here, join(home.here, 'lading-data')]
  const first = await startUp(t, {cwd: folder, command, port})
  t.regex(first.output, /Lading is up/)
  t.true(first.pids.length > 9, 'two launchers, the stack, Postgres, two stand-ins, the API and the workers')

  const webLog = () => fs.readFileSync(join(data, 'logs', 'web.log'), 'utf8')
  t.regex(await until(webLog, text => text.includes('selling verified')), /"problems":0,"msg":"selling verified"/, first.output)

  const busy = await home.run(['up', '--port', `${port}`, '--directory', 'other'], {command})
  t.is(busy.code, 1)
  t.is(busy.err, `Port ${port} is in use by another program. Stop that program, or choose another port: lading up --port ${port + 1}\n`)

  const env = {LADING_URL: `http://127.0.0.1:${port}`, LADING_TOKEN: fs.readFileSync(join(data, 'token'), 'utf8')}
  const importLeads = ['import', 'lading-data/leads.csv', '--module', 'Leads', '--match', 'Email', '--yes', '--watch']
  const [printed] = /LADING_URL=[\s\S]*?--watch/.exec(first.output)!
  const imported = await home.run(['-c', `cd / && ${printed}`], {command: ['bash']})
  t.is(imported.code, 0, imported.err)
  t.regex(imported.out, /Leads: 120 created/)
  for (const name of ['web', 'worker', 'imports', 'checks', 'clock', 'release', 'crm', 'payment'])
    t.true(fs.existsSync(join(data, 'logs', `${name}.log`)), name)

  first.child.kill('SIGKILL')
  await first.stopped()

  const second = await startUp(t, {cwd: folder, command, port})
  t.regex(second.output, /^Starting Lading\.\n/)
  const again = await home.run(importLeads, {command, env})
  t.is(again.code, 0, again.err)
  t.regex(again.out, /Leads: 120 skipped|unchanged/)
  const ended = once(second.child, 'exit')
  second.child.kill('SIGINT')
  t.deepEqual(await ended, [0, null])
  await second.stopped()
  t.is(fs.readdirSync(join(data, 'program')).length, 1, 'one copy of the program')
  t.true(command.at(-1)!.startsWith(dirname(data)))
})
