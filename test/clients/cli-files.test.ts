import {execFileSync} from 'node:child_process'
import {
  chmodSync,
  closeSync,
  constants,
  lstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {Readable} from 'node:stream'
import test from 'ava'
import {bindFlows} from '../../api/clients/cli/inputs.ts'
import {nameOf} from '../../api/clients/cli/plan-import.ts'
import {saveFile} from '../../api/clients/cli/save-file.ts'
import {meanings} from '../../api/reference/codes.ts'

const here = mkdtempSync(join(tmpdir(), 'lading-files-'))
test.after.always(() => rmSync(here, {recursive: true, force: true}))
const at = (name: string) => join(here, name)

const file = (name: string, slot: string | null = null) => ({path: `/${name}`, name, slot, bytes: 1, modifiedMs: 0})
const flow = (sourceId: string) => ({module: 'Leads', sourceId})

test('several files are imported only if each flow names one of them, and a flow reads each of them', t => {
  const bind = (flows: object[], ...files: ReturnType<typeof file>[]) =>
    bindFlows(
      flows,
      files,
      files.map((_, index) => `src_${index + 1}`),
    ).map(({sourceId}) => sourceId)
  const both = [flow('a'), flow('b.csv')]
  t.deepEqual(bind(both, file('a.csv'), file('b.csv')), ['src_1', 'src_2'])
  t.deepEqual(bind(both, file('b.csv'), file('a.csv', 'a')), ['src_2', 'src_1'])
  t.deepEqual(bind([flow('a'), flow('b')], file('a.csv', 'b'), file('b.csv', 'a')), ['src_2', 'src_1'], 'a slot precedes a name')
  t.throws(() => bind(both, file('a.csv'), file('b.csv'), file('c.csv')), {message: /^No flow reads c\.csv$/})
  t.throws(() => bind(both, file('a.csv'), file('a.csv'), file('b.csv')), {message: /^Flow 1 names 2 of the 3 files$/})
  t.throws(() => bind([{module: 'Leads'}], file('a.csv'), file('b.csv')), {message: /^Flow 1 does not name one of the 2 files$/})
})

test('a saved file keeps the mode of the file that it replaces, and a symbolic link to it', async t => {
  writeFileSync(at('target.csv'), 'old')
  chmodSync(at('target.csv'), 0o600)
  symlinkSync('target.csv', at('latest.csv'))
  await saveFile(at('latest.csv'), Readable.from(['new']))
  t.true(lstatSync(at('latest.csv')).isSymbolicLink())
  t.deepEqual([readFileSync(at('target.csv'), 'utf8'), statSync(at('target.csv')).mode & 0o777], ['new', 0o600])
  t.deepEqual(
    readdirSync(here).filter(name => name.endsWith('.part')),
    [],
  )
})

test('a pipe is written, not replaced', async t => {
  execFileSync('mkfifo', [at('pipe')])
  const reader = openSync(at('pipe'), constants.O_RDWR | constants.O_NONBLOCK)
  await saveFile(at('pipe'), Readable.from(['rows']))
  t.true(lstatSync(at('pipe')).isFIFO())
  const bytes = Buffer.alloc(10)
  t.is(bytes.toString('utf8', 0, readSync(reader, bytes)), 'rows')
  closeSync(reader)
})

test('the name of an import of many files is cut between two characters', t => {
  const name = nameOf([{name: `${'a'.repeat(199)}😀.csv`}, {name: 'b.csv'}])
  t.is(name, 'a'.repeat(199))
  t.is(nameOf([{name: '😀.csv'}, {name: 'b.csv'}]), '😀.csv, b.csv')
})

test('the documentation and the help list each error code that only the command line has', t => {
  const clients = new URL('../../api/clients/', import.meta.url)
  const used = ['cli', 'commands'].flatMap(folder =>
    readdirSync(new URL(folder, clients), {recursive: true, encoding: 'utf8'})
      .filter(path => path.endsWith('.ts'))
      .flatMap(path =>
        [...readFileSync(new URL(`${folder}/${path}`, clients), 'utf8').matchAll(/\bcode: '(\w+)'/g)].map(([, code]) => code!),
      ),
  )
  const own = [...new Set(used)].filter(code => !Object.hasOwn(meanings, code))
  t.true(own.includes('USAGE'))
  const page = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8')
  const help = readFileSync(new URL('commands/help.ts', clients), 'utf8')
  for (const code of own) t.true(page.includes(`\`${code}\``) && new RegExp(`\\b${code}[,.]`).test(help), code)
})
