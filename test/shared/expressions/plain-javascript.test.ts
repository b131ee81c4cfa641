import {createContext, runInContext} from 'node:vm'
import test from 'ava'
import fc from 'fast-check'
import {type ExpressionOutcome, openSandbox, type Sandbox} from '../../../shared/expressions/sandbox.ts'

let sandbox: Sandbox
test.before(() => {
  sandbox = openSandbox()
})
test.after.always(() => sandbox.close())

const texts = fc.oneof(fc.string({maxLength: 12}), fc.constantFrom('', ' ', '12', '1,5', 'Añb', 'ß', '👩‍👩‍👧', 'a b  c', 'true'))
const cells = fc.oneof(texts, fc.integer(), fc.double({noNaN: true, noDefaultInfinity: true}), fc.boolean(), fc.constant(null))
const row = fc.record({a: cells, b: cells, c: texts})

type Kinds = {expression: string; text: string; number: string; truth: string; list: string}
type Tie = <Kind extends keyof Kinds>(kind: Kind) => fc.Arbitrary<string>

const calls = {
  text: [
    'trim()',
    'toUpperCase()',
    'toLowerCase()',
    'slice(1, 4)',
    'padStart(5, "0")',
    'replaceAll("a", "$&b")',
    'normalize("NFD")',
  ].concat(['split("").reverse().join("")', 'repeat(3)', 'replace(/\\s+/g, "-")', 'replace(/(\\w)(\\w?)/, (whole, x, y) => y + x)']),
  list: ['map((each, at) => [at, each])', 'filter(Boolean)', 'slice(0, 2)', 'map(String).toSorted()', 'flat()', 'concat([1])'].concat([
    'map(each => ({each, more: [each]}))',
    'map(({length} = "") => length)',
  ]),
}

const textOf = (tie: Tie) => [
  fc.constantFrom('row.c', 'String(row.a)'),
  texts.map(text => JSON.stringify(text)),
  fc.tuple(tie('text'), fc.constantFrom(...calls.text)).map(([text, call]) => `(${text}).${call}`),
  tie('text').map(text => `(${text}).at(-1)?.codePointAt(0)`),
  fc.tuple(tie('expression'), tie('expression')).map(([x, y]) => `\`\${${x}}|\${${y}}\``),
  fc.tuple(tie('text'), tie('expression')).map(([x, y]) => `(${x} + ${y})`),
  fc.tuple(tie('truth'), tie('text'), tie('text')).map(([x, y, z]) => `(${x} ? ${y} : ${z})`),
  tie('list').map(list => `(${list}).join("·")`),
  tie('expression').map(each => `typeof ${each}`),
  tie('list').map(list => `JSON.stringify(${list})`),
]

const numberOf = (tie: Tie) => [
  fc.integer({min: -1000, max: 1000}).map(each => `(${each})`),
  fc
    .tuple(tie('number'), fc.constantFrom('+', '-', '*', '%', '/', '|', '^', '>>>', '<<'), tie('number'))
    .map(([x, sign, y]) => `(${x} ${sign} ${y})`),
  tie('expression').map(each => `Number(${each})`),
  tie('text').map(each => `parseFloat(${each})`),
  tie('text').map(each => `String(${each}).length`),
  tie('number').map(each => `Math.round(${each})`),
  tie('number').map(each => `Math.max(1, ${each}, -3)`),
  tie('list').map(each => `(${each}).length`),
]

const truthOf = (tie: Tie) => [
  fc.constantFrom('true', 'false'),
  fc
    .tuple(tie('expression'), fc.constantFrom('===', '!==', '<', '>=', '=='), tie('expression'))
    .map(([x, sign, y]) => `(${x} ${sign} ${y})`),
  tie('expression').map(each => `!(${each})`),
  fc.tuple(tie('truth'), fc.constantFrom('&&', '||'), tie('truth')).map(([x, sign, y]) => `(${x} ${sign} ${y})`),
  fc.tuple(tie('text'), tie('text')).map(([x, y]) => `String(${x}).includes(${y})`),
  tie('text').map(each => `/^[a-z]+\\d*$/i.test(${each})`),
  tie('number').map(each => `Number.isInteger(${each})`),
]

const listOf = (tie: Tie) => [
  fc.array(tie('expression'), {maxLength: 3}).map(each => `[${each.join(', ')}]`),
  tie('text').map(each => `String(${each}).split(" ")`),
  fc.tuple(tie('list'), tie('list')).map(([x, y]) => `[...${x}, ...${y}]`),
  fc.tuple(tie('list'), fc.constantFrom(...calls.list)).map(([list, call]) => `(${list}).${call}`),
  tie('list').map(each => `Object.entries(Object.fromEntries((${each}).map((held, at) => ["k" + at, held])))`),
]

/** Generates sources recursively, each kind from smaller ones. */
const {expression} = fc.letrec<Kinds>(tie => {
  const depth = {maxDepth: 4}
  return {
    expression: fc.oneof(depth, fc.constantFrom('row.a', 'row.b', 'row?.b'), tie('text'), tie('number'), tie('truth'), tie('list')),
    text: fc.oneof(depth, ...textOf(tie)),
    number: fc.oneof(depth, ...numberOf(tie)),
    truth: fc.oneof(depth, ...truthOf(tie)),
    list: fc.oneof(depth, ...listOf(tie)),
  }
})

/** A JavaScript realm without access to this process, like the sandbox. */
const realm = createContext({})
/** Evaluates an expression as plain JavaScript, and returns its value as it would leave the sandbox. */
const plainly = (source: string, given: object): {value: unknown} | 'error' => {
  try {
    const held = runInContext(`"use strict"; (row => (\n${source}\n))`, realm)({...given})
    const text = JSON.stringify(held === undefined ? null : held, (_, each) => {
      if (typeof each === 'number' && !Number.isFinite(each)) throw new RangeError('no number')
      return each
    })
    return {value: JSON.parse(text)}
  } catch {
    return 'error'
  }
}

test('ordinary expressions have the same value as in plain JavaScript', async t => {
  const sources = [...new Set(fc.sample(expression, 1500))]
  const rows = fc.sample(row, 6)
  let values = 0
  for (let from = 0; from < sources.length; from += 100) {
    const part = sources.slice(from, from + 100)
    const outcomes = await sandbox.evaluate({
      expressions: Object.fromEntries(part.map((source, at) => [`e${at}`, source])),
      rows,
      clock: 0,
      seed: '',
    })
    for (const [number, given] of rows.entries())
      for (const [at, source] of part.entries()) {
        const outcome: ExpressionOutcome = outcomes[number]![`e${at}`]!
        const expected = plainly(source, given)
        if (expected !== 'error') values++
        const shown = `${source} on ${JSON.stringify(given)}: ${JSON.stringify(outcome)}`
        if (expected === 'error') t.true('error' in outcome, shown)
        else t.deepEqual(outcome, expected, shown)
      }
  }
  t.true(values > (sources.length * rows.length) / 2, 'most of them have a value')
})

test('any JSON without a key __proto__ passes unchanged through a row and through the context', async t => {
  const values = fc
    .sample(fc.jsonValue({maxDepth: 4, noUnicodeString: false} as never), 300)
    .filter(value => JSON.stringify(value).length < 10_000 && !JSON.stringify(value).includes('__proto__'))
  const rows = values.map(value => ({value}))
  const expected = JSON.parse(JSON.stringify(values))
  const byField = await sandbox.evaluate({expressions: {same: 'row.value'}, rows, clock: 0, seed: ''})
  const byRow = await sandbox.evaluate({expressions: {same: '({...row}).value'}, rows, clock: 0, seed: ''})
  const byContext = await sandbox.evaluate({expressions: {same: 'context'}, rows: [{}], context: values.slice(0, 20), clock: 0, seed: ''})
  for (const at of values.keys()) {
    t.deepEqual(byField[at], {same: {value: expected[at]}})
    t.deepEqual(byRow[at], {same: {value: expected[at]}})
  }
  t.deepEqual(byContext, [{same: {value: expected.slice(0, 20)}}])
})

test('any text passes unchanged, including lone surrogates and zero bytes', async t => {
  const rows = fc
    .sample(fc.string({unit: fc.nat({max: 0xffff}).map(code => String.fromCharCode(code)), maxLength: 30}), 500)
    .map(text => ({text}))
  const outcomes = await sandbox.evaluate({expressions: {same: 'row.text', length: 'row.text.length'}, rows, clock: 0, seed: ''})
  for (const [at, {text}] of rows.entries()) t.deepEqual(outcomes[at], {same: {value: text}, length: {value: text.length}})
})
