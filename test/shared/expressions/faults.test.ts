import test from 'ava'
import {readLibrary} from '../../../shared/expressions/library.ts'
import type {Fault} from '../../../shared/expressions/protocol.ts'
import {type Batch, type ExpressionOutcome, openSandbox, type Sandbox} from '../../../shared/expressions/sandbox.ts'

const evaluate = (expressions: Batch['expressions'], more: Partial<Batch>, inside: Sandbox) =>
  inside.evaluate({expressions, rows: [{}], clock: 0, seed: 'test', ...more})

const errorOf = (outcome: ExpressionOutcome | undefined) => (outcome && 'error' in outcome ? outcome.error : null)
const library = (source: string, name: string) =>
  readLibrary({
    source,
    manifest: {
      namespace: 'lib',
      version: '1.0.0',
      scope: 'org',
      description: '',
      functions: [{name, description: '', parameters: [], examples: []}],
    },
  })

for (const [name, source, code] of [
  ['that must be ended from outside', 'Array(100000000).join("x")', 'EXPRESSION_TIMEOUT'],
  ['that takes too long', '/^(a+)+$/.test("a".repeat(40) + "b")', 'EXPRESSION_TIMEOUT'],
  ['that uses up the memory', '"x".repeat(500000000)', 'EXPRESSION_MEMORY'],
] as const)
  test.serial(`in a batch with a row ${name}, every other row has its value`, async t => {
    const inside = openSandbox()
    const rows = Array.from({length: 120}, (_, n) => ({n}))
    const guilty = [17, 90]
    const expressions = {before: 'row.n', bomb: `[17, 90].includes(row.n) ? ${source} : row.n`}
    const outcomes = await evaluate(expressions, {rows}, inside)
    for (const [n, outcome] of outcomes.entries()) {
      if (guilty.includes(n)) for (const each of [outcome.before, outcome.bomb]) t.like(errorOf(each), {code, line: null}, String(n))
      else t.deepEqual(outcome, {before: {value: n}, bomb: {value: n}})
    }
    t.regex(errorOf(outcomes[17]!.before)!.message, /\(bomb\)$/)
    t.deepEqual(await evaluate({next: '1 + 1'}, {}, inside), [{next: {value: 2}}])
    await inside.close()
  })

test('a row is not blamed for memory that another row used', async t => {
  // The test is about memory, so it allows enough time for a busy machine.
  const inside = openSandbox({rowMilliseconds: 2000})
  const hoard = library(
    `export const fill = n => {
      if (n !== 1) return 'x'.repeat(8e6).length
      const round = {}
      round.round = round
      round.held = Array.from({length: 44}, (_, at) => 'y'.repeat(5e5) + at)
      return round.held.length
    }`,
    'fill',
  )
  const rows = Array.from({length: 6}, (_, n) => ({n}))
  const outcomes = await evaluate({fill: 'lib.fill(row.n)'}, {rows, libraries: [hoard]}, inside)
  t.deepEqual(
    outcomes.map(({fill}) => fill),
    [8e6, 44, 8e6, 8e6, 8e6, 8e6].map(value => ({value})),
  )
  await inside.close()
})

test('a batch in which every row takes too long ends when it is cancelled', async t => {
  const faults: Fault[] = []
  const caller = new AbortController()
  const inside = openSandbox({onFault: fault => faults.push(fault) === 3 && caller.abort(new Error('enough'))})
  const rows = Array.from({length: 200}, (_, n) => ({n}))
  const evaluating = evaluate({bomb: '/^(a+)+$/.test("a".repeat(40) + "b")'}, {rows, signal: caller.signal}, inside)
  await t.throwsAsync(evaluating, {message: 'enough'})
  t.is(faults.length, 3)
  t.deepEqual(await evaluate({next: '1 + 1'}, {}, inside), [{next: {value: 2}}])
  await t.throwsAsync(evaluate({next: '1 + 1'}, {signal: caller.signal}, inside), {message: 'enough'})
  await inside.close()
})

test('libraries and context of one program are not visible to the next', async t => {
  const inside = openSandbox()
  const secret = library('const key = "of another"\nexport const tell = () => key', 'tell')
  t.deepEqual(await evaluate({a: 'lib.tell() + context.more'}, {context: {more: '!'}, libraries: [secret]}, inside), [
    {a: {value: 'of another!'}},
  ])
  const look = library(
    `export const look = context => {
      const names = Reflect.ownKeys(globalThis).concat(Reflect.ownKeys(helpers)).map(String)
      return [typeof context, names.filter(name => /lib|tell|key|context|row/.test(name)).length, String(new Error('x').stack).includes('tell')]
    }`,
    'look',
  )
  t.deepEqual(await evaluate({a: 'lib.look(context)'}, {libraries: [look]}, inside), [{a: {value: ['undefined', 0, false]}}])
  t.like(await evaluate({a: 'lib.tell()'}, {}, inside), [{a: {error: {code: 'EXPRESSION_REFUSED'}}}])
  await inside.close()
})
