import {execFile} from 'node:child_process'
import {promisify} from 'node:util'
import test from 'ava'
import {readLibrary} from '../../../shared/expressions/library.ts'
import {LIMITS} from '../../../shared/expressions/limits.ts'
import {type Batch, type ExpressionOutcome, type ExpressionRow, openSandbox, type Sandbox} from '../../../shared/expressions/sandbox.ts'

let sandbox: Sandbox
test.before(() => {
  sandbox = openSandbox()
})
test.after.always(() => sandbox.close())

const evaluate = <Name extends string>(expressions: Batch<Name>['expressions'], more: Partial<Batch> = {}, inside = sandbox) =>
  inside.evaluate<Name>({expressions, rows: [{}], clock: 0, seed: 'test', ...more} as Batch<Name>)

const errorOf = (outcome: ExpressionOutcome | undefined) => (outcome && 'error' in outcome ? outcome.error : null)
const library = (source: string, ...functions: string[]) =>
  readLibrary({
    source,
    manifest: {
      namespace: 'lib',
      version: '1.0.0',
      scope: 'org',
      description: '',
      functions: functions.map(name => ({name, description: '', parameters: [], examples: []})),
    },
  })

test('an expression can use the row, its value, the context, the helpers and the libraries of the org', async t => {
  const outcomes = await evaluate(
    {
      row: 'row.First + " " + row["Last name"]',
      value: {source: 'value.toUpperCase()', value: 'First'},
      context: 'context.rate * 2',
      helper: 'helpers.trim(row.First)',
      library: 'lib.double(lib.double(3))',
      missing: 'row.Nothing',
    },
    {
      rows: [{First: ' Ana', 'Last name': 'Ruiz'}],
      context: {rate: 1.5},
      libraries: [library('const two = 2\nexport function double(n) { return n * two }', 'double')],
    },
  )
  t.deepEqual(outcomes, [
    {
      row: {value: ' Ana Ruiz'},
      value: {value: ' ANA'},
      context: {value: 3},
      helper: {value: 'Ana'},
      library: {value: 12},
      missing: {value: null},
    },
  ])
})

test('an error has the line and column in the source of the expression', async t => {
  const failing: [source: string, line: number, column: number][] = [
    ['row.a.b', 1, 6],
    ['row.a\n  .b', 2, 3],
    ['"😀é" + row.a.b', 1, 14],
    ['[1].map(n =>\n  n + row.a.b.c)', 2, 12],
    ['[\n1,\nhelpers.date("x", "YYYY")]', 3, 13],
    ['lib.fails(\n 1)', 1, 10],
    // These characters end a line in JavaScript, too.
    ['[1,\rrow.a.b]', 2, 6],
    ['[1,\r\nrow.a.b]', 2, 6],
    ['["\u2028", row.a.b]', 2, 9],
    ['[1, /*\u2029\n*/ row.a.b]', 3, 9],
  ]
  const expressions = Object.fromEntries(failing.map(([source]) => [source, source]))
  const [row] = await evaluate({before: '`\n\n`', ...expressions}, {libraries: [library('export const fails = n => n.a.b', 'fails')]})
  const outcomes: Record<string, ExpressionOutcome> = row!
  for (const [source, line, column] of failing) t.like(errorOf(outcomes[source]), {code: 'EXPRESSION_THROWN', line, column}, source)
})

test('an error of one expression in one row does not affect others', async t => {
  const rows = [{n: 1}, {n: 0}, {n: 3}]
  const outcomes = await evaluate({inverse: 'helpers.formatNumber(1 / row.n, 2)', same: 'row.n'}, {rows})
  t.deepEqual(
    outcomes.map(({same}) => same),
    [{value: 1}, {value: 0}, {value: 3}],
  )
  t.deepEqual([outcomes[0]!.inverse, outcomes[2]!.inverse], [{value: '1.00'}, {value: '0.33'}])
  t.is(errorOf(outcomes[1]!.inverse)?.code, 'EXPRESSION_THROWN')
})

test('an expression that cannot be parsed fails in every row, beside the values of the others', async t => {
  const outcomes = await evaluate({bad: 'row.', worse: 'new X', good: 'row.n'}, {rows: [{n: 1}, {n: 2}]})
  for (const [at, outcome] of outcomes.entries()) {
    t.like(errorOf(outcome.bad), {code: 'EXPRESSION_SYNTAX', line: 1, column: 5})
    t.like(errorOf(outcome.worse), {code: 'EXPRESSION_REFUSED', line: 1, column: 1})
    t.deepEqual(outcome.good, {value: at + 1})
  }
  t.deepEqual(Object.keys((await evaluate({bad: 'row.'}, {rows: [{}, {}]}))[1]!), ['bad'])
  t.deepEqual(await evaluate({}, {rows: [{}]}), [{}])
  t.deepEqual(await evaluate({n: '1'}, {rows: []}), [])
})

test('columns named constructor, prototype and __proto__ can be read like any other', async t => {
  const rows = [
    ['a', 'b', 'c'],
    ['d', 'e', ''],
  ].map(([one, other, third]) => JSON.parse(`{"constructor":"${one}","prototype":"${other}","__proto__":"${third}"}`))
  const expressions = {
    cells: 'row.constructor + row["prototype"] + row.__proto__',
    value: {source: 'value.toUpperCase()', value: '__proto__'},
  }
  const plain = await evaluate(expressions, {rows})
  t.deepEqual(plain, [
    {cells: {value: 'abc'}, value: {value: 'C'}},
    {cells: {value: 'de'}, value: {value: ''}},
  ])
  const whole = await evaluate({...expressions, all: 'Object.keys(row).join()'}, {rows})
  t.deepEqual(whole[0], {...plain[0], all: {value: 'constructor,prototype,__proto__'}})
  const [missing] = await evaluate({gone: 'row.constructor', far: 'row.constructor["const" + "ructor"]("return 1")()'}, {rows: [{}]})
  for (const outcome of Object.values(missing!)) t.truthy(errorOf(outcome), 'without the column there is no way to code')
})

test('an expression may have the name of a method of every object', async t => {
  const names = ['constructor', 'toString', 'hasOwnProperty', 'valueOf']
  const [row] = await evaluate({...Object.fromEntries(names.map((name, at) => [name, `${at}`])), bad: 'row.'}, {rows: [{}]})
  for (const [at, name] of names.entries()) t.deepEqual(Object.getOwnPropertyDescriptor(row, name)?.value, {value: at})
  await t.throwsAsync(evaluate(JSON.parse('{"__proto__": "1"}'), {rows: [{}]}), {instanceOf: RangeError})
})

test('each kind of value has its defined outcome', async t => {
  const fine: [source: string, value: unknown][] = [
    ['undefined', null],
    ['null', null],
    ['-0', 0],
    ['1e21', 1e21],
    ['[undefined, , 1]', [null, null, 1]],
    ['({a: undefined, b: 1})', {b: 1}],
    ['({toJSON: 1})', {toJSON: 1}],
    ['lib.make("date")', '1970-01-01T00:00:00.000Z'],
    ['lib.make("bare")', {a: 1}],
    ['"\\ud800"', '\ud800'],
    ['"x".repeat(131072).length', 131_072],
    ['"x".repeat(131072)', 'x'.repeat(131_072)],
  ]
  const refused = [
    'NaN',
    '1 / 0',
    '10n',
    'x => x',
    '[x => x]',
    '({a: NaN})',
    '/a/',
    'lib.make("map")',
    'lib.make("symbol")',
    'lib.make("cycle")',
    'lib.make("invalid")',
    'lib.make("class")',
    '"x".repeat(131073)',
    '[["x".repeat(131072)]]',
    '({["__pro" + "to__"]: 1})',
    `JSON.parse('{"a": [{"__proto__": {}}]}')`,
  ]
  const made = library(
    `export const make = kind => {
      const cycle = []
      cycle.push({cycle})
      return {date: new Date(), bare: Object.assign(Object.create(null), {a: 1}), map: new Map(), symbol: Symbol('s'), cycle, invalid: new Date(NaN), class: new (class A {})()}[kind]
    }`,
    'make',
  )
  const sources = [...fine.map(([source]) => source), ...refused]
  const [row] = await evaluate(Object.fromEntries(sources.map(source => [source, source])), {libraries: [made]})
  for (const [source, value] of fine) t.deepEqual(row![source], {value}, source)
  for (const source of refused) t.is(errorOf(row![source])?.code, 'EXPRESSION_VALUE', source)
})

test('Date uses the given clock in UTC, and random values depend only on row and seed', async t => {
  const expressions = {now: 'Date.now()', text: 'lib.today()', random: '[Math.random(), Math.random()]'}
  const libraries = [library('export const today = () => [new Date().toISOString(), new Date(2024, 6, 1).toISOString(), Date()]', 'today')]
  const clock = Date.parse('2024-02-29T12:00:00Z')
  const rows = [{}, {}, {}]
  const whole = await evaluate(expressions, {rows, libraries, clock, seed: 's', numbers: [7, 8, 9]})
  const last = await evaluate(expressions, {rows: [{}], libraries, clock, seed: 's', numbers: [9]}, sandbox)
  const other = await evaluate(expressions, {rows, libraries, clock, seed: 't', numbers: [7, 8, 9]})
  t.deepEqual(whole[2], last[0]!)
  t.deepEqual(whole[0]!.now, {value: clock})
  t.deepEqual(whole[0]!.text, {value: ['2024-02-29T12:00:00.000Z', '2024-07-01T00:00:00.000Z', 'Thu Feb 29 2024 12:00:00 GMT+0000']})
  const drawn = [...whole, ...other].map(({random}) => JSON.stringify(random))
  t.is(new Set(drawn).size, 6)
})

test('a thousand rows in one call keep their own values', async t => {
  const rows = Array.from({length: 1234}, (_, n) => ({n, text: `row ${n}`}))
  const outcomes = await evaluate({text: 'row.text', twice: 'row.n * 2', odd: 'row.n % 2 ? helpers.bool("?") : "even"'}, {rows})
  t.is(outcomes.length, rows.length)
  for (const [n, {text, twice, odd}] of outcomes.entries()) {
    t.deepEqual([text, twice], [{value: `row ${n}`}, {value: n * 2}])
    t.is(errorOf(odd)?.code ?? null, n % 2 ? 'EXPRESSION_THROWN' : null)
  }
})

test('rows with different fields and values of other types are passed unchanged', async t => {
  const rows: ExpressionRow[] = [{a: 'x'}, {b: 'y'}, {a: {deep: [1]}}, {a: null, toString: 'own'}]
  const outcomes = await evaluate({a: 'typeof row.a', has: '"a" in row', own: 'row.toString === "own"'}, {rows})
  t.deepEqual(
    outcomes.map(({a}) => a),
    ['string', 'undefined', 'object', 'object'].map(value => ({value})),
  )
  t.deepEqual(
    outcomes.map(({has}) => has),
    [true, false, true, true].map(value => ({value})),
  )
  t.deepEqual(
    outcomes.map(({own}) => own),
    [false, false, false, true].map(value => ({value})),
  )
})

test('large rows are passed in parts, and a row too large alone gets an error', async t => {
  const large = 'x'.repeat(LIMITS.crossingChars / 2 - 100)
  const rows = [{a: large}, {a: 'small'}, {a: large}, {a: large}, {a: 'x'.repeat(LIMITS.rowChars)}, {a: 'last'}]
  const outcomes = await evaluate({length: 'row.a.length', part: 'row.a.slice(0, 100000)'}, {rows})
  t.deepEqual(
    outcomes.map(({length}) => ('value' in length ? length.value : length.error.code)),
    [large.length, 5, large.length, large.length, 'EXPRESSION_TOO_LARGE', 4],
  )
  const answers = await evaluate({all: '"y".repeat(100000)'}, {rows: Array.from({length: 60}, () => ({}))})
  t.true(answers.every(({all}) => 'value' in all && String(all.value).length === 100_000))
})

test('a row cannot change the input of the next row or the result of the next expression', async t => {
  const source = `const found = /a/g
    export const test = text => found.test(text)
    export const spoil = (row, context) => {
      const tries = [
        () => { row.a = 'spoiled' }, () => { context.list.push(1) }, () => { Array.prototype.extra = 1 }, () => { String.prototype.trim = () => 'spoiled' },
        () => { globalThis.left = 1 }, () => { Object.getPrototypeOf(function* () {}).next = 1 }, () => { Math.max = () => 0 }, () => { delete JSON.parse },
      ]
      return tries.filter(attempt => { try { attempt(); return true } catch { return false } }).length
    }`
  const rows = [{a: ' a '}, {a: ' a '}]
  const expressions = {
    first: 'lib.test("a")',
    again: 'lib.test("a")',
    spoil: 'lib.spoil(row, context)',
    clean: '[row.a.trim(), context.list.length, Math.max(1, 2), "left" in [], [].extra]',
  }
  const outcomes = await evaluate(expressions, {rows, context: {list: []}, libraries: [library(source, 'test', 'spoil')]})
  t.deepEqual(outcomes[0], outcomes[1]!)
  t.like(outcomes[1], {first: {value: true}, spoil: {value: 0}, clean: {value: ['a', 0, 2, false, null]}})
})

test('calls to one sandbox are queued, and other programs take turns', async t => {
  const many = Array.from({length: 20}, (_, n) => evaluate({[`e${n % 3}`]: `row.n + ${n}`}, {rows: [{n: 1}]}))
  const answered = await Promise.all(many)
  t.deepEqual(answered, answered.map((_, n) => [{[`e${n % 3}`]: {value: n + 1}}]) as never)
})

test('a closed sandbox reopens on its next call', async t => {
  const inside = openSandbox()
  t.deepEqual(await evaluate({a: '1'}, {}, inside), [{a: {value: 1}}])
  await inside.close()
  t.deepEqual(await evaluate({a: '2'}, {}, inside), [{a: {value: 2}}])
  await inside.close()
})

test('a process exits after a close, after a termination, and with an idle sandbox left open', async t => {
  const script = `
    import {openSandbox} from '${new URL('../../../shared/expressions/sandbox.ts', import.meta.url)}'
    const [closed, ended, idle] = [openSandbox(), openSandbox(), openSandbox()]
    const of = source => ({expressions: {a: source}, rows: [{}], clock: 0, seed: ''})
    await closed.evaluate(of('1'))
    await closed.close()
    const [row] = await ended.evaluate(of('Array(100000000).join("x")'))
    await idle.evaluate(of('1'))
    console.log(row.a.error.code, process.getActiveResourcesInfo().filter(name => name !== 'PipeWrap' && name !== 'TTYWrap').join())`
  const {stdout} = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {timeout: 30_000})
  t.is(stdout.trim(), 'EXPRESSION_TIMEOUT')
})

test('a program is limited in size', async t => {
  const many = Object.fromEntries(Array.from({length: LIMITS.expressions + 1}, (_, n) => [`e${n}`, '1']))
  await t.throwsAsync(evaluate(many), {instanceOf: RangeError})
  await t.throwsAsync(evaluate({a: '1'}, {context: 'x'.repeat(LIMITS.contextChars)}), {instanceOf: RangeError})
  const most = Object.fromEntries(Array.from({length: LIMITS.expressions}, (_, n) => [`e${n}`, `row.n + ${n}`]))
  t.deepEqual((await evaluate(most, {rows: [{n: 1}]}))[0]!.e999, {value: 1000})
})
