import test from 'ava'
import {prepareUnsent} from '../../../../workers/engine/bulk/prepare-bulk.ts'
import type {RowPipeline} from '../../../../workers/engine/pipeline-state.ts'
import {compiledFlow, field, row} from '../fixtures.ts'

test('updates that waited for no job, or whose run ends, are not read again', async t => {
  const edits = {fields: new Map(), choices: new Map(), onUnknown: 'write', skipsUnchanged: true} as const
  // A comparison fails in this context, which has neither a database nor a CRM.
  const pipeline = {ctx: {}, flow: compiledFlow([field('Name')], {edits})} as unknown as RowPipeline
  const unsent = [1, 2].map(number => ({row: row(number), target: `r${number}`}))
  const result = {unsent, next: new Map(), offWhy: null}
  for (const end of [
    {ending: null, hasWaited: false},
    {ending: new Error('The run ends'), hasWaited: true},
  ])
    t.deepEqual(await prepareUnsent(pipeline, 'update', {...result, ...end}), {unsent, next: result.next, ended: []})
  t.true(unsent.every(({row}) => row.isByRecords))
  await t.throwsAsync(prepareUnsent(pipeline, 'update', {...result, ending: null, hasWaited: true}))
})
