import {globSync, readFileSync} from 'node:fs'
import {fileURLToPath} from 'node:url'
import test from 'ava'
import {parse} from './boundary-rules.ts'
import {type Finding, findBannedNames, findPackedLiterals, findPronounComments, findSharedTypeNames} from './language-rules.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const paths = globSync('{api,workers,shared,sql,test}/**/*.ts', {cwd: root, exclude: ['**/node_modules/**']})
const sources = parse(paths.map(path => [path, readFileSync(`${root}/${path}`, 'utf8')]))
const show = (findings: Finding[]) => findings.map(({path, says}) => `${path}: ${says}`).sort()
const parseOne = (path: string, text: string) => parse([[path, text]])[0]!

test('no file, exported name or type in the repository has a banned name', t => t.deepEqual(show(sources.flatMap(findBannedNames)), []))

test('no exported type name is declared in two source files', t => t.deepEqual(show(findSharedTypeNames(sources)), []))

test('no comment in the repository has a pronoun for a subject', t =>
  t.deepEqual(show(sources.filter(({path}) => path !== 'test/language.test.ts').flatMap(findPronounComments)), []))

test('no literal in the repository is spread only to put several values on one line', t =>
  t.deepEqual(show(sources.flatMap(findPackedLiterals)), []))

test('a banned word is found in a file name, in an exported name and in a type', t => {
  t.is(findBannedNames(parseOne('shared/kept-guests.ts', '')).length, 1)
  t.is(findBannedNames(parseOne('shared/a.ts', 'export const openDesk = () => {}')).length, 1)
  t.is(findBannedNames(parseOne('workers/a.ts', 'export function rehearse() {}\nexport class RowYard {}')).length, 2)
  t.is(findBannedNames(parseOne('api/a.ts', 'type Asked = {a: string}\nexport interface Sent {a: string}')).length, 2)
  t.deepEqual(findBannedNames(parseOne('sql/a.ts', 'type AskedPrice = {a: string}\nconst desk = 1\nexport const skin = 2')), [])
})

test('a type name that two folders export is found, but not a re-export, a local type or one of a client program', t => {
  const declares = 'export type Outcome = string'
  t.is(
    findSharedTypeNames(
      parse([
        ['api/a.ts', declares],
        ['shared/b.ts', declares],
      ]),
    ).length,
    1,
  )
  t.is(
    findSharedTypeNames(
      parse([
        ['sql/a.ts', declares],
        ['sql/deep/b.ts', 'export interface Outcome {a: 1}'],
      ]),
    ).length,
    1,
  )
  t.deepEqual(
    findSharedTypeNames(
      parse([
        ['api/a.ts', declares],
        ['api/clients/b.ts', declares],
      ]),
    ),
    [],
  )
  t.deepEqual(
    findSharedTypeNames(
      parse([
        ['api/a.ts', declares],
        ['sql/b.ts', 'type Outcome = string'],
      ]),
    ),
    [],
  )
  t.deepEqual(
    findSharedTypeNames(
      parse([
        ['api/a.ts', `export type {Outcome} from '../sql/b.ts'`],
        ['sql/b.ts', declares],
      ]),
    ),
    [],
  )
})

test('a comment whose subject is a pronoun is found', t => {
  const text = `/** Waits for whoever holds it. */\nconst nobody = 'whoever' // nobody answers\n// https://example.org/somebodys`
  t.is(findPronounComments(parseOne('shared/a.ts', text)).length, 2)
  t.deepEqual(findPronounComments(parseOne('shared/b.ts', '// A worker waits.\nconst somebody = 1')), [])
})

test('a packed literal is found in an object, a list and a call, but not the spread of a value', t => {
  const text = `const a = {b: 1, ...{c: 2}}\nconst d = [...['e', 'f']]\nf(...[1, 2])`
  t.is(findPackedLiterals(parseOne('shared/a.ts', text)).length, 3)
  const values = `const a = {...b, ...(c ? {d} : {}), ...(e && {f})}\nconst g = [...h, ...[...i].map(j)]`
  t.deepEqual(findPackedLiterals(parseOne('shared/b.ts', values)), [])
})
