import test from 'ava'
import {checkLibrary, type LibraryCheck, readLibrary} from '../../../shared/expressions/library.ts'
import {LIMITS} from '../../../shared/expressions/limits.ts'
import {Manifest} from '../../../shared/expressions/manifest.ts'
import {openSandbox, type Sandbox} from '../../../shared/expressions/sandbox.ts'

let sandbox: Sandbox
test.before(() => {
  sandbox = openSandbox()
})
test.after.always(() => sandbox.close())

type Example = {arguments: unknown[]; result: unknown}
const manifestOf = (functions: Record<string, Example[]>, more: object = {}) =>
  Manifest.parse({
    namespace: 'pricing',
    version: '1.2.0',
    scope: 'org',
    description: 'Prices',
    functions: Object.entries(functions).map(([name, examples]) => ({
      name,
      description: name,
      parameters: [{name: 'amount', type: 'number'}],
      returns: 'number',
      examples,
    })),
    ...more,
  })

const check = (source: string, functions: Record<string, Example[]> = {go: []}, more: object = {}, namespace?: string) =>
  checkLibrary(sandbox, {manifest: manifestOf(functions, more), source, ...(namespace !== undefined && {namespace})})

const problemOf = (checked: LibraryCheck) => (checked.ok ? null : checked)

test('a library of every allowed form loads, and its examples hold', async t => {
  const source = `// Prices, with the org's own rates.
const RATES = Object.freeze({DE: 1.19, FR: 1.2})
const CODES = new Map([['germany', 'DE'], ['france', 'FR']])
const KNOWN = new Set(Object.freeze(['DE', 'FR']))
const SPACES = /\\s+/g, LIMIT = 10 * 100, HELP = \`at most \${LIMIT}\`
const clean = text => helpers.trim(text).replace(SPACES, ' ').toLowerCase()
function codeOf(country) { return CODES.get(clean(country)) ?? country }
export function gross(amount, country = 'DE') {
  if (!KNOWN.has(codeOf(country))) throw new RangeError(\`no rate for \${country}; \${HELP}\`)
  class Sum { constructor(parts) { this.total = parts.reduce((a, b) => a + b, 0) } }
  let total = 0
  for (const part of [amount]) total += new Sum([part]).total
  return Math.round(total * RATES[codeOf(country)] * 100) / 100
}
const net = amount => ({amount, tags: [null, true]})
export {net, codeOf as code}
export const isDE = country => /^DE$/.test(codeOf(country))
`
  const checked = await check(source, {
    gross: [
      {arguments: [100], result: 119},
      {arguments: [100, ' Germany '], result: 119},
      {arguments: [10, 'FR'], result: 12},
    ],
    net: [{arguments: [1], result: {tags: [null, true], amount: 1}}],
    code: [{arguments: ['France'], result: 'FR'}],
    isDE: [
      {arguments: ['germany'], result: true},
      {arguments: ['germany'], result: true},
    ],
  })
  t.deepEqual(problemOf(checked), null)
  const {library} = checked as Extract<LibraryCheck, {ok: true}>
  const rows = [{n: 10}, {n: 20}]
  const outcomes = await sandbox.evaluate({expressions: {gross: 'pricing.gross(row.n)'}, rows, libraries: [library], clock: 0, seed: ''})
  t.deepEqual(outcomes, [{gross: {value: 11.9}}, {gross: {value: 23.8}}])
})

test('a wrong name is refused before the source is read', async t => {
  const source = 'export const go = () => 1'
  t.like(await check(source, undefined, {}, 'prices'), {ok: false, code: 'NAMESPACE_MISMATCH', line: null})
  t.true((await check(source, undefined, {}, 'pricing')).ok)
  t.like(await check(source, undefined, {scope: 'global'}), {ok: false, code: 'LIBRARY_SCOPE'})
  for (const namespace of [
    'core',
    'helpers',
    'trim',
    'date',
    'row',
    'value',
    'context',
    'Math',
    'JSON',
    'Object',
    'undefined',
    'globalThis',
    'eval',
    'arguments',
    'constructor',
    '__proto__',
    'class',
    'await',
    'let',
  ])
    t.like(await check(source, undefined, {namespace}), {ok: false, code: 'NAMESPACE_RESERVED'}, namespace)
})

const go = (line: string) => `\n${line}\nexport const go = () => 1`
const loads: [source: string, line: number, column: number, says: RegExp][] = [
  ['export const go = () => {\n  return 1 +\n}', 3, 1, /Unexpected token/],
  [go('  import fs from "fs"'), 2, 3, /cannot import/],
  [go('export * from "fs"'), 2, 1, /own functions only/],
  [go('export {readFile} from "fs"'), 2, 1, /cannot import/],
  [go('const late = () => import("fs")'), 2, 20, /cannot import/],
  [go('const here = () => import.meta.url'), 2, 20, /import\.meta/],
  [go('let count = 0'), 2, 1, /`const`/],
  [go('var count = 0'), 2, 1, /`const`/],
  [go('const next = counter()'), 2, 14, /inside a function/],
  [go('const today = new Date()'), 2, 15, /new Map/],
  [go('const box = {list: [1, {when: Date.now()}]}'), 2, 31, /inside a function/],
  [go('const box = {get a() { return 1 }}'), 2, 14, /plain keys/],
  [go('const box = {[Symbol.iterator]: 1}'), 2, 14, /plain keys/],
  [go('const box = {toString() { return "x" }}'), 2, 14, /toString/],
  [go('const box = {list: [{"valueOf": () => 1}]}'), 2, 22, /valueOf/],
  [go('const box = {__proto__: []}'), 2, 14, /__proto__/],
  [go('const less = a => 1 <!--a'), 2, 23, /comment/],
  [go('const {a} = Math'), 2, 7, /top level/],
  [go('function Map() {}'), 2, 10, /of the language/],
  [go('class A {}'), 2, 1, /inside the function/],
  [go('throw new Error("x")'), 2, 1, /top level/],
  [go('null.x'), 2, 1, /top level/],
  [go('if (true) {}'), 2, 1, /top level/],
  [go('const wait = async () => 1'), 2, 14, /cannot wait/],
  [go('function kept() { kept = 1 }'), 2, 19, /cannot be assigned/],
  [`const keep = v => { kept++ }\nexport function kept() {}\nexport const go = () => 1`, 1, 21, /cannot be assigned/],
  [`const keep = v => { [, {a: [kept] = []}] = v }\nfunction kept() {}\nexport const go = () => 1`, 1, 29, /cannot be assigned/],
  [`const keep = v => { for (kept of v); }\nfunction kept() {}\nexport const go = () => 1`, 1, 26, /cannot be assigned/],
  [`const keep = v => { ({...kept} = v) }\nfunction kept() {}\nexport const go = () => 1`, 1, 26, /cannot be assigned/],
  [go('await 1'), 2, 1, /top level|cannot wait/],
  [go('export default () => 1'), 2, 1, /by name/],
  ['const a = LATER.b\nconst LATER = {b: 1}\nexport const go = () => a', 1, 11, /LATER|initiali/],
  ['const a = null.b\nexport const go = () => a', 1, 15, /null/],
  [`${'('.repeat(20_000)}`, 1, 0, /deep|stack|Unexpected/],
]

test('a source that does not load is refused with line and column', async t => {
  for (const [source, line, column, says] of loads) {
    const problem = problemOf(await check(source))
    t.like(problem, {code: 'LIBRARY_LOAD', line, ...(column && {column})}, `${source.slice(0, 80)}: ${JSON.stringify(problem)}`)
    t.regex(problem!.message, says, source.slice(0, 80))
  }
  t.like(await check(`//${'x'.repeat(LIMITS.libraryChars)}`), {ok: false, code: 'LIBRARY_LOAD'})
})

test('the exports and the manifest of a library must agree', async t => {
  const one = 'export const go = () => 1'
  t.like(await check(one, {go: [], gone: []}), {
    ok: false,
    code: 'LIBRARY_EXPORTS',
    message: 'The manifest names gone, but the source does not export it',
    line: null,
  })
  t.like(await check(`${one}\n  export const extra = () => 1`), {ok: false, code: 'LIBRARY_EXPORTS', line: 2, column: 16})
  t.like(await check('export const go = 1'), {ok: false, code: 'LIBRARY_EXPORTS', line: 1, column: 14})
  t.like(await check('const go = () => 1\nexport {go as constructor}', {constructor: []}), {
    ok: false,
    code: 'LIBRARY_EXPORTS',
    message: 'No expression can call a function named constructor. Choose another name',
  })
  const twice = {functions: [{name: 'go'}, {name: 'go'}]}
  t.like(await check(one, {}, twice), {ok: false, code: 'LIBRARY_EXPORTS', message: 'The manifest names go twice'})
})

test('every example of a library must hold', async t => {
  const source = 'export const go = (a, b) => a / b\nexport const fail = a =>\n  a.b.c'
  const half = {arguments: [1, 2], result: 0.5}
  t.true((await check(source, {go: [half], fail: [{arguments: [{b: {c: [1]}}], result: [1]}]})).ok)
  t.like(await check(source, {go: [half, {arguments: [1, 4], result: 0.5}], fail: []}), {
    ok: false,
    code: 'LIBRARY_EXAMPLE',
    message: 'go(1, 4) returned 0.25, but its example expects 0.5',
    line: null,
  })
  t.like(await check(source, {go: [{arguments: [1, 0], result: 0}], fail: []}), {ok: false, code: 'LIBRARY_EXAMPLE'})
  t.like(await check(source, {go: [half], fail: [{arguments: [{}], result: 1}]}), {ok: false, code: 'LIBRARY_EXAMPLE', line: 3, column: 6})
})

test('an endless example is refused by name, and the sandbox continues', async t => {
  const source =
    'export const loop = () => { for (;;) {} }\nexport const hang = () => Array(100000000).join("x")\nexport const eat = () => "x".repeat(500000000).length\nexport const go = () => 1'
  const example = [{arguments: [], result: 1}]
  const functions = {go: example, loop: [], hang: [], eat: []}
  for (const [name, says] of [
    ['loop', /loop took too long/],
    ['hang', /hang took too long/],
    ['eat', /memory/],
  ] as const) {
    const problem = problemOf(await check(source, {...functions, [name]: example}))
    t.is(problem?.code, 'LIBRARY_EXAMPLE')
    t.regex(problem!.message, says)
  }
  t.true((await check(source, functions)).ok)
})

// Serial, because work of other tests in this file would count as the time of an example.
test.serial('examples that take too long together are refused, though each is fast enough', async t => {
  const source = 'export const go = () => { let sum = 0; for (let at = 0; at < 1e5; at++) sum += at; return sum }'
  const examples = Array.from({length: LIMITS.functionExamples}, () => ({arguments: [], result: 4999950000}))
  const names = Array.from({length: LIMITS.libraryFunctions - 1}, (_, n) => `go${n}`)
  const many = `${source}\nexport {${names.map(name => `go as ${name}`).join(', ')}}`
  t.like(await check(source, {go: examples.slice(0, 2)}), {ok: true})
  const before = performance.now()
  const problem = problemOf(await check(many, {go: examples, ...Object.fromEntries(names.map(name => [name, examples]))}))
  t.is(problem?.code, 'LIBRARY_EXAMPLE')
  t.regex(problem!.message, /together/)
  t.true(performance.now() - before < LIMITS.examplesMilliseconds * 2)
})

test('a program continues after a library check in the same sandbox', async t => {
  const batch = {expressions: {a: 'row.n + 1'}, rows: [{n: 1}], clock: 0, seed: ''}
  t.deepEqual(await sandbox.evaluate(batch), [{a: {value: 2}}])
  t.true((await check('export const go = () => 1')).ok)
  t.deepEqual(await sandbox.evaluate(batch), [{a: {value: 2}}])
})

test('a library that an earlier build published with an assignment to a function still runs', async t => {
  const source = 'export function sum(list) { return list.length }\nexport const go = () => { let sum = 1; sum += 1; return sum }'
  t.like(await check(source), {ok: false, code: 'LIBRARY_LOAD'})
  const libraries = [readLibrary({manifest: manifestOf({go: []}), source})]
  t.deepEqual(await sandbox.evaluate({expressions: {a: 'pricing.go()'}, rows: [{}], clock: 0, seed: '', libraries}), [{a: {value: 2}}])
})

test('another version of a library makes another program', async t => {
  const batch = {expressions: {a: 'pricing.go()'}, rows: [{}], clock: 0, seed: ''}
  for (const answer of [1, 2, 1]) {
    const libraries = [readLibrary({manifest: manifestOf({go: []}), source: `export const go = () => ${answer}`})]
    t.deepEqual(await sandbox.evaluate({...batch, libraries}), [{a: {value: answer}}])
  }
})

test('the form of a manifest is checked', t => {
  const good = {namespace: 'pricing', version: '1.0.0-beta.1', scope: 'org', functions: [{name: 'go'}]}
  t.like(Manifest.parse(good), {description: '', functions: [{name: 'go', parameters: [], examples: []}]})
  const bad = [
    {...good, namespace: '1a'},
    {...good, namespace: 'a-b'},
    {...good, version: '1.0'},
    {...good, version: '01.0.0'},
    {...good, scope: 'team'},
    {...good, functions: []},
    {...good, functions: [{name: 'a b'}]},
    {...good, functions: [{name: 'go', examples: [{arguments: 1, result: 1}]}]},
    {...good, more: 1},
  ]
  for (const each of bad) t.false(Manifest.safeParse(each).success, JSON.stringify(each))
})
