import {execFile} from 'node:child_process'
import {mkdirSync, symlinkSync} from 'node:fs'
import {createRequire} from 'node:module'
import {dirname, join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {promisify} from 'node:util'
import test from 'ava'
import {cliPath, openHome} from '../support/cli-process.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))

/** Installs the package as `npm install` would, without a network: it unpacks the tarball and links the dependencies. */
const install = async (folder: string) => {
  const {stdout} = await run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder], {cwd: root})
  const home = join(folder, 'node_modules', 'lading')
  mkdirSync(home, {recursive: true})
  await run('tar', ['xzf', join(folder, stdout.trim()), '-C', home, '--strip-components', '1'])
  for (const name of ['commander', 'amaro']) {
    const from = createRequire(join(root, 'package.json'))
      .resolve(name)
      .replace(/(node_modules\/[^/]+)\/.*/, '$1')
    symlinkSync(from, join(folder, 'node_modules', name))
  }
  return join(home, 'api', 'clients', 'lading.js')
}

test('the installed package works, and a Node that is too old gets a clear error', async t => {
  const home = openHome()
  const installed = await install(home.here)
  const command = [process.execPath, installed]
  const help = await home.run(['help', 'exit-codes'], {command})
  t.is(help.code, 0, help.err)
  t.regex(help.out, /^7 +The server refused/m)
  const refused = await home.run(['config', 'pull', 'x'], {command})
  t.is(refused.code, 5, refused.err)
  t.true(installed.startsWith(dirname(dirname(home.here))))

  const old = ['--import', `data:text/javascript,Object.defineProperty(process.versions,'node',{value:'20.19.0'})`]
  const told = await home.run(['--version'], {command: [process.execPath, ...old, cliPath]})
  t.is(told.code, 1)
  t.regex(told.err, /^lading requires Node 24 or later, but this is Node 20\.19\.0 .*\nInstall a newer version/)
})

test('bash completes commands, their options, and the choices of an option', async t => {
  const home = openHome()
  const {out, code} = await home.run(['completion', 'bash'])
  t.is(code, 0)
  const complete = async (...words: string[]) => {
    const given = words.map(word => `'${word}'`).join(' ')
    const script = `source <(cat); COMP_WORDS=(lading ${given}); COMP_CWORD=${words.length}; _lading; echo "\${COMPREPLY[*]}"`
    const {out: said, err} = await home.run(['-c', script], {command: ['bash'], input: out})
    t.is(err, '')
    return said.trim().split(' ').filter(Boolean)
  }
  t.deepEqual(await complete('conf'), ['config'])
  t.deepEqual(await complete('config', ''), ['pull', 'diff', 'push'])
  t.deepEqual(await complete('--json', 'config', 'push', '--pr'), ['--prune'])
  t.deepEqual(await complete('import', 'x.csv', '--fail-on', ''), ['refused', 'skipped', 'never'])
  t.deepEqual(await complete('import', '--template', ''), [], 'a value that is not known is left to files')
  t.deepEqual(await complete('completion', 'z'), ['zsh'])
})

test('an unknown command is answered with a suggestion', async t => {
  const home = openHome()
  const unknown = await home.run(['improt'])
  t.is(unknown.code, 4)
  t.is(unknown.err, "Error: unknown command 'improt'\nDid you mean import? See: lading --help\n")
})
