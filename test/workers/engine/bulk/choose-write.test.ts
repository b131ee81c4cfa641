import test from 'ava'
import {findBulkBlock} from '../../../../workers/engine/bulk/choose-write.ts'
import {compiledFlow, field, patchPlan} from '../fixtures.ts'

const blockOf = (count: number) => {
  const fields = Array.from({length: count}, (_, n) => field(`F${n}`, {unique: n === 0}))
  return findBulkBlock(compiledFlow(fields, {options: {automations: true}}), {hasBulk: true, hasPatches: false})
}

test('a flow with a patch plan, with a parent, or whose records another flow patches writes by record calls', t => {
  const flow = compiledFlow([field('Name', {unique: true})], {options: {automations: true}})
  const parent = {} as NonNullable<typeof flow.parent>
  const block = 'Links to rows of the file are written by record calls'
  for (const more of [{patchPlan}, {parent}]) t.is(findBulkBlock({...flow, ...more}, {hasBulk: true, hasPatches: false}), block)
  t.is(findBulkBlock(flow, {hasBulk: true, hasPatches: true}), block)
})

test('a flow whose file would have more columns than a bulk file holds writes by record calls', t => {
  t.is(blockOf(199), null)
  t.is(blockOf(200), 'A bulk file holds at most 199 fields and its key')
})
