import test from 'ava'
import {builtinScripts} from '../../../shared/expressions/builtin.ts'
import {prepareProgram} from '../../../shared/expressions/program.ts'
import {openRuntime} from '../../../shared/expressions/runtime.ts'

const head = {first: 0, width: 1, numbers: [0], clock: 0, seed: '', alone: false}
const ready = (source: string) => prepareProgram({expressions: {a: source}}, null).program

test('thousands of calls and programs do not leak memory of the runtime', async t => {
  const runtime = await openRuntime({began: () => {}, isOver: () => false, scripts: builtinScripts()})
  const rows = JSON.stringify(['x'.repeat(100_000)])
  runtime.define(ready('row.a.length'))
  for (let crossing = 0; crossing < 2000; crossing++) t.is(runtime.run(rows, head), '[1,[100000],[]]')
  for (let number = 0; number < 2000; number++) {
    t.deepEqual(runtime.define(ready(`row.a.length + ${number} + "${'y'.repeat(9000)}".length`)), [])
    t.is(runtime.run('["x"]', head), `[1,[${9001 + number}],[]]`)
  }
})

test('an expression that only QuickJS refuses is reported, and the others run', async t => {
  const runtime = await openRuntime({began: () => {}, isOver: () => false, scripts: builtinScripts()})
  const {program} = prepareProgram({expressions: {a: '1 + 1', b: '2', c: 'row.a'}}, null)
  program.expressions[1]!.source = '\n  1 +'
  t.like(runtime.define(program), [{index: 1, line: 2}])
  t.is(runtime.run('["x"]', head), '[1,[2,null,"x"],[]]')
})
