import test from 'ava'
import type {RecordAnswer} from '../../../../shared/crm/crm.ts'
import {noAnswer} from '../../../../shared/crm/error.ts'
import type {CompiledFlow} from '../../../../workers/engine/model.ts'
import {judgePatch} from '../../../../workers/engine/patch/patch-verdict.ts'
import {openPassCounts} from '../../../../workers/engine/read/pass-counts.ts'
import {openLateUpdates} from '../../../../workers/engine/recover/late-updates.ts'
import {emptySettlement} from '../../../../workers/engine/settle/settler.ts'
import {compiledFlow, field, patchPlan, row} from '../fixtures.ts'

const flow = compiledFlow([field('Name')], {patchPlan})
const refused: RecordAnswer = {
  ok: false,
  sent: true,
  crm: {...noAnswer, unanswered: false, code: 'INVALID_DATA', status: 400},
  duplicateOf: null,
}
const silence: RecordAnswer = {...refused, crm: noAnswer}

for (const [way, answers] of Object.entries({
  answered: [{ok: true, recordId: '7'} as const],
  refused: [refused],
}))
  test(`the links that a patch leaves empty are counted once if the patch is ${way}`, t => {
    const settled = emptySettlement(1)
    const batch = {flow, settled, patienceMs: 0, lateUpdates: openLateUpdates(0)}
    const patched = row(1, {emptyLinks: ['Owner']})
    const next = answers.map(answer => judgePatch(batch, {row: patched, target: '7'}, answer))
    t.is(next.at(-1), 'end')
    t.deepEqual(settled.emptyLinks, [{flow: 1, field: 'Owner'}])
  })

test('the links that an unanswered patch leaves empty are counted when the low-water mark passes its row', t => {
  const settled = emptySettlement(1)
  const counts = openPassCounts(flow, 0)
  const patched = row(2, {emptyLinks: ['Owner']})
  for (const one of [row(1, {emptyLinks: ['Owner']}), patched]) counts.noteLinks(one)
  const marks = {pack: () => Buffer.alloc(0)} as unknown as NonNullable<CompiledFlow['marks']>
  const batch = {flow: {...flow, marks}, settled, patienceMs: 0, lateUpdates: openLateUpdates(0)}
  for (const next of ['again', 'again', 'end']) t.is(judgePatch(batch, {row: patched, target: '7'}, silence), next as 'end')
  t.deepEqual(settled.emptyLinks, [])
  t.deepEqual(
    settled.marked.map(({isSure}) => isSure),
    [false, false, false],
  )
  t.true(counts.isOpen())
  t.deepEqual(counts.withCounts({flow: 1, lowWater: 1}), {flow: 1, lowWater: 1})
  t.deepEqual(counts.withCounts({flow: 1, lowWater: 2}), {flow: 1, lowWater: 2, emptyLinks: [{flow: 1, field: 'Owner'}]})
  t.deepEqual(counts.withCounts({flow: 1, lowWater: 2}), {flow: 1, lowWater: 2})
})
