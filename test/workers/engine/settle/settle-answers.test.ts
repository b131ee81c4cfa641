import test from 'ava'
import type {RecordAnswer} from '../../../../shared/crm/crm.ts'
import type {BeforeImage} from '../../../../shared/runs/undo/before-image.ts'
import type {Context} from '../../../../workers/engine/context.ts'
import {openLateUpdates} from '../../../../workers/engine/recover/late-updates.ts'
import {settleAnswers} from '../../../../workers/engine/settle/settle-answers.ts'
import {compiledFlow, field, leaseOf, patchPlan, row} from '../fixtures.ts'

const refused = {
  ok: false,
  sent: true,
  crm: {code: 'INVALID_DATA', status: 400, details: null, unanswered: false},
} as unknown as RecordAnswer

test('the image of a refused patch is voided before the settlement, so that a crash in between leaves no image', async t => {
  const done: string[] = []
  const ctx = {
    config: {CRM_LAG_SECONDS: 1},
    lease: leaseOf(new AbortController().signal),
    crmClock: {note: async () => {}},
    lateUpdates: openLateUpdates(0),
    images: {keep: async (images: BeforeImage[]) => void done.push(...images.map(({key, isVoid}) => `${key} ${isVoid}`))},
    settler: {settle: async () => void done.push('settled')},
  } as unknown as Context
  const ops = [1, 2].map(number => ({row: row(number), target: String(number)}))
  const answers = [{ok: true as const, recordId: '1'}, refused]
  const batch = {batches: [1], ops}
  await settleAnswers(ctx, {...compiledFlow([field('Name')]), patchPlan}, 'update', batch, {answers, clockOffsetMs: null}, () => {})
  t.deepEqual(done, ['f.2 true', 'settled'])
})
