import test from 'ava'
import {CrmError, type CrmProblem} from '../../../../shared/crm/error.ts'
import {keepImages} from '../../../../workers/engine/images/before-images.ts'
import {judgePatch} from '../../../../workers/engine/patch/patch-verdict.ts'
import {openLateUpdates} from '../../../../workers/engine/recover/late-updates.ts'
import {emptySettlement} from '../../../../workers/engine/settle/settler.ts'
import {compiledFlow, field, leaseOf, patchPlan, row} from '../fixtures.ts'

const flow = {...compiledFlow([field('Name')]), patchPlan}

test('a patch says that its earlier values were not shown, also if an earlier owner of the run sent it', async t => {
  const stored: unknown[] = []
  const slots = {take: async () => {}, give: () => {}, cut: async () => {}}
  const ctx = {
    run: {connectorKind: 'zoho'},
    lease: leaseOf(new AbortController().signal),
    signal: new AbortController().signal,
    slots: {...slots, large: slots, small: slots},
    log: {warn: () => {}},
    images: {keep: async (images: unknown[]) => void stored.push(...images)},
    connection: {
      fieldsPerRead: 50,
      readRecords: async () => {
        throw new CrmError({code: 'NO_PERMISSION', status: 403, retryable: false} as CrmProblem)
      },
    },
  } as unknown as Parameters<typeof keepImages>[0]
  const [first, resumed] = [row(1), row(2, {unansweredSends: 1})]
  await keepImages(
    ctx,
    flow,
    [first, resumed].map(one => ({row: one, target: one.key})),
  )
  t.like(stored, [{row: 1, isUnread: true}])
  t.is(stored.length, 1)
  const settled = emptySettlement(1)
  const batch = {flow, settled, patienceMs: 0, lateUpdates: openLateUpdates(0)}
  for (const one of [first, resumed]) judgePatch(batch, {row: one, target: one.key}, {ok: true, recordId: one.key})
  t.regex(settled.log[0]!.message!, /an undo leaves this record as it is$/)
  t.regex(settled.log[1]!.message!, /an undo may leave this record as it is$/)
})
