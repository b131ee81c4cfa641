import test from 'ava'
import type {RecordAnswer} from '../../../../shared/crm/crm.ts'
import {noAnswer} from '../../../../shared/crm/error.ts'
import {judgePatch} from '../../../../workers/engine/patch/patch-verdict.ts'
import {openLateUpdates} from '../../../../workers/engine/recover/late-updates.ts'
import {emptySettlement} from '../../../../workers/engine/settle/settler.ts'
import {compiledFlow, field, row} from '../fixtures.ts'

const patchPlan = {rules: new Map(), parent: null, repair: null}
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
  'never answered': [silence, silence, silence],
}))
  test(`the links that a patch leaves empty are counted once if the patch is ${way}`, t => {
    const settled = emptySettlement(1)
    const batch = {flow, settled, patienceMs: 0, lateUpdates: openLateUpdates(0)}
    const patched = row(1, {emptyLinks: ['Owner']})
    const next = answers.map(answer => judgePatch(batch, {row: patched, target: '7'}, answer))
    t.is(next.at(-1), 'end')
    t.deepEqual(settled.emptyLinks, [{flow: 1, field: 'Owner'}])
  })
