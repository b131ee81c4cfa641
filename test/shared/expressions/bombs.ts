import type {EvaluationCode} from '../../../shared/expressions/sandbox.ts'

/** A harmful expression, if needed with a library. `ends`: the allowed results. Whether memory or time runs out first depends on the machine. */
export type Bomb = {name: string; source: string; ends: (EvaluationCode | 'value' | 'LIBRARY_LOAD')[]; library?: string}

const spent: EvaluationCode[] = ['EXPRESSION_TIMEOUT', 'EXPRESSION_MEMORY', 'EXPRESSION_STACK', 'EXPRESSION_THROWN']
const thrown: EvaluationCode[] = ['EXPRESSION_THROWN']
const refused: EvaluationCode[] = ['EXPRESSION_REFUSED']
const syntax: EvaluationCode[] = ['EXPRESSION_SYNTAX']
const unloaded: Bomb['ends'] = ['LIBRARY_LOAD']

/** Returns a bomb that needs statements, as the function of a library. */
const inLibrary = (name: string, body: string, ends: Bomb['ends']): Bomb => ({
  name,
  source: 'bomb.go(row)',
  library: `export function go(row) {\n${body}\n}`,
  ends,
})
/** Returns a bomb in the library itself. */
const whole = (name: string, library: string, ends: Bomb['ends']): Bomb => ({name, source: 'bomb.go(row)', library, ends})
const plain = (name: string, source: string, ends: Bomb['ends']): Bomb => ({name, source, ends})

const cpu: Bomb[] = [
  inLibrary('an endless loop', 'for (;;) {}', ['EXPRESSION_TIMEOUT']),
  inLibrary('an endless loop that catches everything', 'for (;;) try { for (;;) {} } catch {} finally {}', ['EXPRESSION_TIMEOUT']),
  inLibrary('a generator without an end', 'function* all() { for (;;) yield 1 }\nreturn [...all()]', spent),
  inLibrary('a loop of exceptions', 'for (;;) try { throw new Error("x") } catch {}', ['EXPRESSION_TIMEOUT']),
  inLibrary('a loop in a finally', 'try { return 1 } finally { for (;;) {} }', ['EXPRESSION_TIMEOUT']),
  inLibrary('a getter that loops in the answer', 'return {get held() { for (;;) {} }}', ['EXPRESSION_TIMEOUT']),
  inLibrary('a proxy that loops in the answer', 'return new Proxy({}, {ownKeys() { for (;;) {} }})', ['EXPRESSION_TIMEOUT']),
  inLibrary('a thrown value whose message loops', 'throw {toString() { for (;;) {} }}', ['EXPRESSION_TIMEOUT']),
  inLibrary('an error whose stack loops', 'const e = new Error(); Object.defineProperty(e, "stack", {get() { for (;;) {} }}); throw e', [
    'EXPRESSION_TIMEOUT',
  ]),
  inLibrary(
    'an iterator that loops when it is closed',
    'const [a] = {[Symbol.iterator]: () => ({next: () => ({value: 1, done: false}), return() { for (;;) {} }})}; return a',
    ['EXPRESSION_TIMEOUT'],
  ),
  inLibrary('a loop begun again by its finally', 'again: for (;;) { try { for (;;) {} } finally { continue again } }', [
    'EXPRESSION_TIMEOUT',
  ]),
  inLibrary('an iterator without an end, asked natively', 'return Iterator.from({next: () => ({value: 1})}).drop(1e15).next()', spent),
  plain('two long texts compared by their language', '"a".repeat(1000000).localeCompare("a".repeat(1000000))', [...spent, 'value']),
  plain('nested loops over lists', 'Array(3000).fill(0).map((_, i) => Array(3000).fill(0).map((_, j) => i * j).length).length', spent),
  plain('a sort whose order never settles', 'Array(300000).fill(0).map((_, i) => i).sort(() => Math.random() - 0.5).length', spent),
  plain(
    'a sort that compares for ever',
    'Array(200000).fill(0).map((_, i) => (i * 7919) % 200003).sort((a, b) => Array(50).fill(a - b)[7])[0]',
    spent,
  ),
  plain('a native join over a huge hole', 'Array(100000000).join("x").length', spent),
  plain('a native join over the longest list', 'Array(4294967295).join("x").length', spent),
  plain('indexOf over the longest list', '[].concat(Array(4294967295)).indexOf(1)', [...spent, 'value']),
  plain('a power of large whole numbers', '(7n ** 9999999n).toString().length', spent),
  plain('a large whole number as text', '(2n ** 3000000n).toString().length', spent),
  plain('a list of the longest length as JSON', 'JSON.stringify(Array(100000000)).length', spent),
  plain('reverse of the longest list', 'Array(4294967295).reverse().length', spent),
  plain('includes over an array-like of 2^53', '[].includes.call({length: 9007199254740991}, 1)', [...spent, 'value']),
]

const memory: Bomb[] = [
  plain('a text of a billion letters', '"x".repeat(1073741823).length', [...spent, 'value']),
  plain('texts by the thousand', 'Array(100000).fill(0).map((_, i) => String(i).repeat(1000)).length', spent),
  plain('a list filled', 'Array(100000000).fill(0).length', spent),
  plain('padding', '"x".padEnd(1000000000, "yz").length', spent),
  plain('doubling by reduce', 'Array(60).fill("xy").reduce((a, b) => a + a + b).length', spent),
  plain('concatenated lists', 'Array(40).fill([1]).reduce((a, b) => [...a, ...a, ...b]).length', spent),
  plain('split of a long text', '"x".repeat(20000000).split("").length', spent),
  plain('replaceAll that multiplies', '"x".repeat(100000).replaceAll("x", "y".repeat(100000)).length', spent),
  plain('an object of a million keys', 'Object.keys(Object.fromEntries(Array(1000000).fill(0).map((_, i) => [i + "k", i]))).length', spent),
  inLibrary('typed arrays', 'const held = []; for (;;) held.push(new Uint8Array(1 << 20))', spent),
  inLibrary('a buffer that grows in place', 'const b = new ArrayBuffer(8, {maxByteLength: 2 ** 30}); b.resize(2 ** 30); return 1', spent),
  inLibrary('a map that grows', 'const held = new Map(); for (let i = 0; ; i++) held.set({}, i)', spent),
  inLibrary('closures that hold closures', 'let held = () => 0; for (;;) { const inner = held; held = () => inner }', spent),
  inLibrary(
    'memory asked for again after it ran out',
    'for (;;) try { const all = []; for (;;) all.push("x".repeat(1e6) + all.length) } catch {}',
    spent,
  ),
  inLibrary('a promise chain without an end', 'const next = () => Promise.resolve().then(next); for (;;) next()', spent),
  inLibrary('symbols without an end', 'const held = []; for (let i = 0; ; i++) held.push(Symbol.for("k" + i))', spent),
  plain('an answer larger than may leave', '"x".repeat(200000)', ['EXPRESSION_VALUE']),
  plain('an answer of many small parts', 'Array(50000).fill("ab")', ['EXPRESSION_VALUE']),
]

const depth: Bomb[] = [
  plain('a function that calls itself', '(f => f(f))(f => f(f) + 1)', ['EXPRESSION_STACK']),
  inLibrary('functions that call one another', 'const a = () => b() + 1, b = () => a() + 1; return a()', ['EXPRESSION_STACK']),
  inLibrary('toString that calls itself', 'const o = {toString() { return String(o) }}; return String(o)', spent),
  inLibrary('toJSON that calls itself', 'const o = {toJSON() { return JSON.stringify(o) }}; return JSON.stringify(o)', spent),
  inLibrary('a proxy of proxies', 'let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); return p.x', spent),
  inLibrary('a getter through a prototype that is itself', 'const o = {get a() { return this.a }}; return o.a', ['EXPRESSION_STACK']),
  inLibrary('JSON whose reader reads again', 'const read = () => JSON.parse("[1]", read); return read()', spent),
  inLibrary('JSON whose writer goes deeper', 'return JSON.stringify({a: 1}, (_, value) => ({a: value}))', spent),
  plain('JSON half a million lists deep', 'JSON.parse("[".repeat(500000))', spent),
  plain('JSON half a million objects deep', `JSON.parse('{"a":'.repeat(500000))`, spent),
  inLibrary('data nested deep, as JSON', 'let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return JSON.stringify(a)', spent),
  inLibrary('data nested deep, as the answer', 'let a = []; for (let i = 0; i < 1e4; i++) a = [a]; return a', ['EXPRESSION_VALUE']),
  inLibrary('data that contains itself', 'const a = {}; a.a = a; return a', ['EXPRESSION_VALUE']),
  inLibrary('flat of what contains itself', 'const a = []; a.push(a); return a.flat(Infinity)', spent),
  inLibrary('bound functions of bound functions', 'let f = () => 1; for (let i = 0; i < 1e5; i++) f = f.bind(null); return f()', spent),
  plain('a source nested too deeply', `${'('.repeat(4000)}1${')'.repeat(4000)}`, syntax),
  plain('a source of lists nested too deeply', `${'['.repeat(4000)}${']'.repeat(4000)}`, syntax),
]

const regex: Bomb[] = [
  plain('a repetition of a repetition', '/^(a+)+$/.test("a".repeat(40) + "b")', ['EXPRESSION_TIMEOUT']),
  plain('alternatives that overlap', '/^(a|aa)+$/.test("a".repeat(60) + "b")', ['EXPRESSION_TIMEOUT']),
  plain('many stars in a row', '/a*a*a*a*a*a*a*a*a*a*c/.test("a".repeat(400))', ['EXPRESSION_TIMEOUT']),
  plain('a back reference', '/^(.*)\\1\\1\\1\\1x$/.test("ab".repeat(20000))', [...spent, 'value']),
  plain('a look-ahead that repeats', '/^(?=(a+)+$)b/.test("a".repeat(40) + "c")', [...spent, 'value']),
  plain('counted repetitions of counted repetitions', 'RegExp("(?:a{0,65535}){0,65535}b").test("a".repeat(50))', [...spent, 'value']),
  plain('a pattern nested deep', 'RegExp("(?:".repeat(50000) + ")".repeat(50000)).test("a")', [...spent, 'value']),
  plain('helpers.replace with a repetition of a repetition', 'helpers.replace("a".repeat(40) + "b", "(a+)+$", "")', thrown),
]

const escapes: Bomb[] = [
  plain('a constructor by its name', '(() => 1).constructor("return 1")()', refused),
  plain('a constructor in brackets', '(() => 1)["constructor"]("return 1")()', refused),
  plain('a constructor by a computed name', '(() => 1)["const" + "ructor"]("return globalThis")()', thrown),
  inLibrary('the constructor of an async function', 'return (async () => {})["constr" + "uctor"]("return 1")', unloaded),
  inLibrary('an import() in a library', 'return import("node:fs")', unloaded),
  inLibrary('a wait in a loop over what never comes', 'for await (const x of row) return x', [...unloaded, ...syntax]),
  whole('an import of a library', 'import fs from "node:fs"\nexport const go = () => fs', unloaded),
  whole('an export of another module', 'export {go} from "node:fs"', unloaded),
  whole('a loop while loading', 'for (;;) {}\nexport const go = () => 1', unloaded),
  whole('a wait while loading', 'await new Promise(() => {})\nexport const go = () => 1', unloaded),
  whole('a counter kept between rows', 'let count = 0\nexport const go = () => ++count', unloaded),
  whole('a counter in a closure', 'const next = (n => () => ++n)(0)\nexport const go = () => next()', unloaded),
  whole(
    'a counter out of a getter',
    'const box = {get next() { let n = 0; return () => ++n }}\nconst next = box.next\nexport const go = () => next()',
    unloaded,
  ),
  whole('a counter in a constant', 'const box = {n: 0}\nexport const go = () => ++box.n', thrown),
  whole('a counter on the function', 'export function go() { go.n = (go.n ?? 0) + 1; return go.n }', thrown),
  whole(
    'a counter in a Map',
    'const box = new Map([["n", 0]])\nexport const go = () => Map.prototype.set.call(box, "n", 1).get("n")',
    thrown,
  ),
  whole('a counter in a Map, by what Map has since', 'const box = new Map()\nexport const go = () => box.getOrInsert("n", 1)', thrown),
  whole('a counter in a pattern', 'const box = /a/\nexport const go = () => { box.lastIndex++; return box.lastIndex }', thrown),
  whole('a memory in a pattern', 'const box = /a/\nexport const go = () => { box.lastIndex = {n: 1}; return 1 }', thrown),
  whole('a pattern exchanged in place', 'const box = /a/g\nexport const go = () => box.compile(box.source + "a").source', thrown),
  whole(
    'a counter made while loading, by an object that becomes text',
    'const box = {toString() { let n = 0; box.next = () => ++n; return "" }}\nconst text = box + ""\nexport const go = () => box.next()',
    unloaded,
  ),
  whole(
    'a counter behind a comment that only a script has',
    'export function go(a) {\n  return tick() <!--a + `\n}\nlet n = 0\nconst tick = () => ++n\nfunction rest(a) {\n  a <!--a + `\n}',
    unloaded,
  ),
  whole('a counter in a Set', 'const box = new Set()\nexport const go = row => box.add(row).size', thrown),
  inLibrary('the constructor of a generator', 'return Object.getPrototypeOf(function* () {})["constr" + "uctor"]("yield 1")', thrown),
  plain('a prototype by its old name', '({}).__proto__', refused),
  plain('import()', 'import("node:fs")', refused),
  plain('await', 'await fetch("http://127.0.0.1")', refused),
  plain('an async arrow', 'async () => 1', refused),
  plain('yield', '(yield 1)', syntax),
  plain('process', 'process.exit(1)', refused),
  plain('require', 'require("node:fs")', refused),
  plain('globalThis', 'globalThis.process', refused),
  plain('this', 'this.constructor', refused),
  plain('a statement smuggled in', '1); for (;;) {} (1', syntax),
  plain('a comment that eats our code', '1 /*', syntax),
  inLibrary(
    'process, require, fetch and timers from a library',
    'return [typeof process, typeof require, typeof fetch, typeof setTimeout, typeof console, typeof WebAssembly].join()',
    ['value'],
  ),
  inLibrary(
    'globalThis from a library',
    'return Object.getOwnPropertyNames(globalThis).filter(n => /process|require|host|began|zone|std|os$|eval|^Function$/.test(n)).join()',
    ['value'],
  ),
  inLibrary('eval from a library', 'return eval("1")', thrown),
  inLibrary('Function from a library', 'return Function("return 1")()', thrown),
  inLibrary('the prototype of all objects', 'Object.prototype.polluted = 1', thrown),
  inLibrary('a method of all lists', 'Array.prototype.push = () => 0', thrown),
  inLibrary('a getter on all objects', 'Object.defineProperty(Object.prototype, "value", {get: () => "stolen"})', thrown),
  inLibrary('a prototype exchanged', 'Object.setPrototypeOf(Array.prototype, {}); return 1', thrown),
  inLibrary('JSON exchanged', 'JSON.stringify = () => "[1,[],[]]"', thrown),
  inLibrary('a new global', 'globalThis.left = 1', thrown),
  inLibrary('the prototype of iterators', 'Object.getPrototypeOf([][Symbol.iterator]()).next = () => ({done: true})', thrown),
  inLibrary('the prototype of concatenated iterators', 'Object.getPrototypeOf(Iterator.concat([])).next = () => ({done: true})', thrown),
  inLibrary('the way errors are written', 'Error.prepareStackTrace = () => { for (;;) {} }; null.x', thrown),
  inLibrary('the row itself', 'row.n = 99; return row.n', thrown),
  inLibrary(
    'a species that hands out the wrong list',
    'class Odd extends Array { static get [Symbol.species]() { return Date } }\nreturn new Odd(1, 2, 3).map(x => x)',
    [...thrown, 'EXPRESSION_VALUE', 'value'],
  ),
  inLibrary('a generator as the answer', 'return (function* () { yield 1 })()', ['EXPRESSION_VALUE']),
  inLibrary('a symbol as the answer', 'return Symbol.iterator', ['EXPRESSION_VALUE']),
  inLibrary('a whole number without an end as the answer', 'return 10n', ['EXPRESSION_VALUE']),
  inLibrary('a function as the answer', 'return () => 1', ['EXPRESSION_VALUE']),
  inLibrary('an answer that pretends to be a date', 'return Object.create(Date.prototype)', [...thrown, 'EXPRESSION_VALUE']),
]

export const bombs = [...cpu, ...memory, ...depth, ...regex, ...escapes]
