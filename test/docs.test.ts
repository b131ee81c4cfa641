import {existsSync, globSync, readFileSync} from 'node:fs'
import {dirname, join, normalize} from 'node:path'
import {fileURLToPath} from 'node:url'
import test from 'ava'
import {KINDS} from '../shared/notifications/kind.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const folderReadmes = globSync('{api,workers,shared,sql,test}/**/README.md', {cwd: root}).sort()
const pages = [...globSync('*.md', {cwd: root}).sort(), ...folderReadmes, ...globSync('docs/**/*.md', {cwd: root}).sort()]
const lineCount = (text: string) => text.trimEnd().split('\n').length

/** Returns the text without code, in which brackets and names are not links. */
const withoutCode = (text: string) => text.replaceAll(/^```[\s\S]*?^```/gm, '').replaceAll(/`[^`\n]*`/g, '')

/** Returns the anchors of a page: its headings as GitHub names them, and `<a id="…">`. */
const anchorsOf = (path: string): Set<string> => {
  const text = read(path).replaceAll(/^```[\s\S]*?^```/gm, '')
  const headings = [...text.matchAll(/^#{1,6} (.+)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  )
  return new Set([...headings, ...[...text.matchAll(/<a id="([^"]+)">/g)].map(([, id]) => id!)])
}

/** Returns the targets in the repository to which a page's links and pictures lead. */
const localTargets = (path: string): string[] =>
  [...withoutCode(read(path)).matchAll(/\]\(([^)\s]+)\)|<img src="([^"]+)"/g)]
    .map(([, link, picture]) => (link ?? picture)!)
    .filter(target => !/^[a-z]+:/.test(target))

const isBroken = (page: string, target: string): boolean => {
  const [file = '', anchor] = target.split('#')
  const path = file === '' ? page : normalize(join(dirname(page), file))
  if (!existsSync(join(root, path))) return true
  return anchor !== undefined && !anchorsOf(path).has(anchor)
}

test('the README has at most 150 lines, and the README of a folder at most 40', t => {
  t.true(lineCount(read('README.md')) <= 150)
  t.deepEqual(
    folderReadmes.filter(path => lineCount(read(path)) > 40),
    [],
  )
})

test('each folder at the top that holds code has a README', t => {
  for (const folder of ['api', 'workers', 'shared', 'sql', 'test']) t.true(folderReadmes.includes(`${folder}/README.md`), folder)
})

test('every link into the repository resolves, with its anchor', t => {
  const broken = pages.flatMap(page =>
    localTargets(page)
      .filter(target => isBroken(page, target))
      .map(target => `${page}: ${target}`),
  )
  t.deepEqual(broken, [])
})

test('every page of docs is linked from another page', t => {
  const linked = new Set(pages.flatMap(page => localTargets(page).map(target => normalize(join(dirname(page), target.split('#')[0]!)))))
  t.deepEqual(
    pages.filter(page => page.startsWith('docs/') && !linked.has(page)),
    [],
  )
})

test('every repository path that a page names exists', t => {
  const missing = pages.flatMap(page =>
    [...read(page).matchAll(/`((?:api|workers|shared|sql|test|docs)\/[\w./-]*\w)\/?`/g)]
      .map(([, path]) => path!)
      .filter(path => !existsSync(join(root, path)))
      .map(path => `${page}: ${path}`),
  )
  t.deepEqual(missing, [])
})

test('every npm script that a page names exists', t => {
  const {scripts} = JSON.parse(read('package.json')) as {scripts: Record<string, string>}
  const missing = pages.flatMap(page =>
    [...read(page).matchAll(/\bnpm run (?:-s )?([\w:-]+)/g)]
      .filter(([, script]) => !(script! in scripts))
      .map(([text]) => `${page}: ${text}`),
  )
  t.deepEqual(missing, [])
})

test('docs/operations.md names the file that an operator runs in a container instead of each npm script', t => {
  const {scripts} = JSON.parse(read('package.json')) as {scripts: Record<string, string>}
  for (const script of ['migrate', 'maintenance', 'secrets']) t.true(read('docs/operations.md').includes(`| \`${scripts[script]}`), script)
})

test('docs/configuration.md lists every variable of the configuration with default, unit and effect, and no other', t => {
  const [, declared = ''] = /const Environment = z\.object\(\{([\s\S]*?)\n\}\)/.exec(read('shared/config.ts')) ?? []
  const variables = [...declared.matchAll(/^ {2}([A-Z][A-Z0-9_]+):/gm)].map(([, name]) => name!)
  const rows = [...read('docs/configuration.md').matchAll(/^\| `([A-Z][A-Z0-9_]+)` \| (.+) \| (.+) \| (.+) \|$/gm)].map(([, name]) => name!)
  t.true(variables.length > 50)
  t.deepEqual(rows.toSorted(), variables.toSorted())
})

test('the table of notices lists every kind', t => {
  const [, section = ''] = /\n## Notices\n([\s\S]*?)\n## /.exec(read('docs/api.md')) ?? []
  const listed = [...section.matchAll(/^\| (`[a-z]+\..+?) \| .+ \|$/gm)].flatMap(([, kinds]) =>
    kinds!.split(', ').map(one => one.slice(1, -1)),
  )
  t.deepEqual(listed.toSorted(), [...KINDS, 'webhook.test'].toSorted())
})

test('the glossary has at least 60 terms, each once', t => {
  const rows = [...read('docs/glossary.md').matchAll(/^\| (?!Term |---)(.+?) \| .+ \|$/gm)].map(([, terms]) => terms!)
  const terms = rows.flatMap(one => one.split(', '))
  t.true(rows.length >= 60)
  t.deepEqual(
    terms.filter((term, at) => terms.indexOf(term) !== at),
    [],
  )
})

/** The folders of the names in the columns of `docs/where.md` after the feature: routes, SQL, worker or shared, test. */
const columnFolders = ['api/routes/', 'sql/', '', '']
const whereRows = read('docs/where.md')
  .split('\n')
  .filter(line => line.startsWith('| ') && !line.startsWith('| Feature '))
const wherePaths = whereRows.flatMap(row =>
  row
    .slice(2, -2)
    .split(' | ')
    .slice(1)
    .flatMap((cell, column) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => `${columnFolders[column]}${name}`)),
)

test('docs/where.md names existing files and folders, and has lines of at most 150 characters', t => {
  t.true(whereRows.every(row => row.split(' | ').length === 5))
  t.deepEqual(
    wherePaths.filter(path => !existsSync(join(root, path))),
    [],
  )
  t.deepEqual(
    read('docs/where.md')
      .split('\n')
      .filter(line => line.length > 150),
    [],
  )
})

test('docs/where.md names every route file, and something of every folder of workers', t => {
  const routes = globSync('api/routes/*.ts', {cwd: root}).filter(path => !path.endsWith('.answers.ts'))
  t.deepEqual(
    routes.filter(path => !wherePaths.includes(path)),
    [],
  )
  t.deepEqual(
    globSync('workers/*/', {cwd: root}).filter(folder => !wherePaths.some(path => path.startsWith(`${folder}/`))),
    [],
  )
})

test('each decision has its own number, and its page states the decision in at most 25 lines', t => {
  const decisions = globSync('docs/decisions/*.md', {cwd: root}).sort()
  const numbers = decisions.map(path => Number(/(\d{3})-[a-z0-9-]+\.md$/.exec(path)?.[1]))
  t.is(new Set(numbers).size, decisions.length)
  for (const [at, path] of decisions.entries()) {
    t.regex(read(path), new RegExp(`^# ${numbers[at]}\\. .+\n[\\s\\S]*\\*\\*Decision\\.\\*\\*`))
    t.true(lineCount(read(path)) <= 25, path)
  }
})
