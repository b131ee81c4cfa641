import test from 'ava'
import {openHome} from '../support/cli-process.ts'
import {asNode20, installPackage} from '../support/installed-package.ts'

test('the installed command line works without the packages of the service, and a Node that is too old gets a clear error', async t => {
  const home = openHome()
  const installed = await installPackage(home.here, ['commander', 'amaro'])
  const command = [process.execPath, installed]
  const help = await home.run(['help', 'exit-codes'], {command})
  t.is(help.code, 0, help.err)
  t.regex(help.out, /^7 +The server refused/m)
  const refused = await home.run(['config', 'pull', 'x'], {command})
  t.is(refused.code, 5, refused.err)

  const told = await home.run(['--version'], {command: [process.execPath, ...asNode20, installed]})
  t.is(told.code, 1)
  t.regex(told.err, /^lading requires Node 24 or later, but this is Node 20\.19\.0 .*\nInstall a newer version/)
})

test('an old Node runs a command with the packaged Node, and passes on its exit code', async t => {
  const home = openHome()
  const command = [process.execPath, ...asNode20, await installPackage(home.here, ['commander', 'amaro', `node-linux-${process.arch}`])]
  const version = await home.run(['--version'], {command})
  t.is(version.code, 0, version.err)
  t.regex(version.out, /^\d+\.\d+\.\d+\n$/)
  t.is((await home.run(['config', 'pull', 'x'], {command})).code, 5)
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
