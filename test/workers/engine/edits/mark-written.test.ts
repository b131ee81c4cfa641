import test from 'ava'
import {markWritten} from '../../../../workers/engine/edits/mark-written.ts'
import type {CompiledFlow} from '../../../../workers/engine/model.ts'
import {emptySettlement} from '../../../../workers/engine/settle/settler.ts'
import {compiledFlow, field, row} from '../fixtures.ts'

test('marks that were packed with the intent of an update are not packed again', t => {
  let packed = 0
  const pack = (recordId: string) => Buffer.from(`${recordId} ${++packed}`)
  const flow = compiledFlow([field('Name')], {marks: {pack} as CompiledFlow['marks'] & object})
  const settled = emptySettlement()
  markWritten({flow, settled}, row(1, {marks: Buffer.from('of the intent')}), 'r1')
  markWritten({flow, settled}, row(2, {marks: null}), 'r2')
  t.deepEqual(
    settled.marked.map(({marks}) => marks.toString()),
    ['of the intent', 'r2 1'],
  )
})
