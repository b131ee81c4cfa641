import test from 'ava'
import {isDue, isSent, keepToPlan} from '../../../../workers/engine/sealed-plan/keep-to-plan.ts'

const step = {kind: 'create'} as NonNullable<Parameters<typeof isDue>[0]['step']>
const flow = {patchPlan: null} as unknown as Parameters<typeof isSent>[1]
const patches = {patchPlan: {}} as Parameters<typeof isSent>[1]

test('a row counts as sent only if its write may have taken effect', t => {
  const refused = {attempt: 1, unansweredSends: 0, decided: null, step}
  t.false(isSent(refused, flow), 'the CRM answered that it wrote nothing, so the row is compared with the plan again')
  t.true(isDue(refused, flow), 'and ends as stale if it is not written')
  t.false(isSent({}, flow))
  t.true(isSent({...refused, unansweredSends: 1}, flow))
  t.true(isSent({decided: {kind: 'create', target: null}}, flow), 'an earlier run sent it')
})

test('a patch counts as sent from its first attempt, because its record is always decided', t => {
  const decided = {decided: {kind: 'update' as const, target: '1'}}
  t.false(isSent({...decided, attempt: 0}, patches))
  t.true(isSent({...decided, attempt: 1}, patches))
})

test('a row without a step creates nothing, and keeps an update or a delete until its record is compared', t => {
  t.like(keepToPlan({step: null}, {do: 'create'}), {do: 'skip', code: 'PLAN_STALE'})
  for (const planned of [
    {do: 'update', target: '1'},
    {do: 'delete', target: '1'},
  ] as const)
    t.is(keepToPlan({step: null}, planned), planned)
})
