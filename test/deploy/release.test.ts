import {execFile} from 'node:child_process'
import {createHash, generateKeyPairSync, verify} from 'node:crypto'
import {globSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {promisify} from 'node:util'
import test from 'ava'
import {readText, readYaml, root} from './files.ts'
import {listLicences} from './licences.ts'

const run = promisify(execFile)
const manifest = JSON.parse(readText('package.json'))
const lock = JSON.parse(readText('package-lock.json'))

test('npm pack runs no script of ours, so that it works in a clone without installed packages and on Node 20', t => {
  const {scripts} = JSON.parse(readText('package.json'))
  for (const name of ['prepack', 'prepare', 'postpack']) t.false(name in scripts, name)
})

test('the list of licences has every package of the service, each with a licence, and none of development', t => {
  const rows = listLicences(lock)
  const names = new Set(rows.map(({name}) => name))
  for (const name of Object.keys({...manifest.dependencies, ...manifest.optionalDependencies})) t.true(names.has(name), name)
  for (const name of ['ava', '@biomejs/biome', 'typescript']) t.false(names.has(name), name)
  t.deepEqual(
    rows.filter(({licence}) => licence === ''),
    [],
  )
})

test('the SBOM is CycloneDX and names the packages of the list of licences', async t => {
  const {stdout} = await run('npm', ['run', '-s', 'sbom'], {cwd: root, maxBuffer: 32 * 1024 ** 2})
  const sbom = JSON.parse(stdout)
  t.is(sbom.bomFormat, 'CycloneDX')
  const listed = new Set(
    sbom.components.map(({group, name, version}: Record<string, string>) => `${group ? `${group}/` : ''}${name}@${version}`),
  )
  const wanted = new Set(listLicences(lock).map(({name, version}) => `${name}@${version}`))
  t.deepEqual([...listed].toSorted(), [...wanted].toSorted())
  const refs = new Set(sbom.components.map((component: Record<string, string>) => component['bom-ref']))
  const own = sbom.metadata.component['bom-ref']
  for (const {ref, dependsOn} of sbom.dependencies) for (const one of [ref, ...dependsOn]) t.true(refs.has(one) || one === own, one)
})

test('a release has the package, its SBOM and licences, with signed checksums', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'lading-release-'))
  t.teardown(() => rmSync(folder, {recursive: true}))
  const {privateKey, publicKey} = generateKeyPairSync('ed25519')
  const keyFile = join(folder, 'key.pem')
  writeFileSync(keyFile, privateKey.export({format: 'pem', type: 'pkcs8'}))
  const target = join(folder, 'release')
  await run('npm', ['run', '-s', 'release', '--', target, keyFile], {cwd: root})
  const files = ['licences.md', 'sbom.json', 'tgz'].map(end => `lading-${manifest.version}.${end}`)
  t.deepEqual(readdirSync(target).toSorted(), ['SHA256SUMS', 'SHA256SUMS.sig', ...files])
  const read = (name: string) => readFileSync(join(target, name))
  const sums = read('SHA256SUMS')
  t.is(String(sums), files.map(file => `${createHash('sha256').update(read(file)).digest('hex')}  ${file}\n`).join(''))
  t.true(verify(null, sums, publicKey, read('SHA256SUMS.sig')))
  await t.throwsAsync(run('npm', ['run', '-s', 'release', '--', target, keyFile], {cwd: root}), {message: /is not empty/})
  await t.throwsAsync(run('npm', ['run', '-s', 'release', '--', target], {cwd: root}), {message: /Name an empty folder/})
})

test('the changelog has the version of the package or changes to release, with upgrade notes', t => {
  const changelog = readText('CHANGELOG.md')
  t.regex(changelog, new RegExp(`^## (Unreleased|${manifest.version.replaceAll('.', '\\.')}\\b)`, 'm'))
  t.regex(changelog, /^### Upgrade notes$/m)
})

test('every issue form has required fields, and asks for no secret', t => {
  const forms = globSync('.github/ISSUE_TEMPLATE/*.yml', {cwd: root}).filter(path => !path.endsWith('/config.yml'))
  t.is(forms.length, 2)
  for (const path of forms) {
    const {name, description, body} = readYaml(path)
    t.truthy(name && description, path)
    t.true(
      body.some(({validations}: {validations?: {required: boolean}}) => validations?.required),
      path,
    )
  }
  t.regex(readText('.github/ISSUE_TEMPLATE/bug.yml'), /Do not post customer rows, tokens or grants/)
})

test('the guide for contributors is one page', t => {
  t.true(readText('CONTRIBUTING.md').trimEnd().split('\n').length <= 40)
})
