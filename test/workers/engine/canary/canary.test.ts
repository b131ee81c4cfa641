import test from 'ava'
import {openCanary, openCanaryGates} from '../../../../workers/engine/canary/canary.ts'
import {compiledFlow, field, patchPlan, row} from '../fixtures.ts'

const openCanaryOf = (size: number) => {
  const gates = openCanaryGates({canary: size, canaryPassed: [], counts: []})!
  return openCanary(...([{}, gates, {}] as unknown as Parameters<typeof openCanary>))
}

test('deletes, patches, tags and undone records have no canary', t => {
  const canary = openCanaryOf(1)
  const ops = [1, 2].map(number => ({row: row(number), target: `${number}`}))
  const flow = compiledFlow([field('Name')])
  t.deepEqual(canary.split(flow, 'delete', ops).later, [])
  for (const more of [{patchPlan}, {tags: ['Lading']}, {judge: 'undo' as const}])
    t.deepEqual(canary.split({...flow, ...more}, 'update', ops).later, [])
})

test('a row that was sent before does not wait for the canary', t => {
  const canary = openCanaryOf(2)
  const ops = [1, 2, 3, 4].map(number => ({row: row(number, {unansweredSends: number === 4 ? 1 : 0}), target: null}))
  const {now, later} = canary.split(compiledFlow([field('Name')]), 'create', ops)
  t.deepEqual(
    [now, later].map(some => some.map(({row}) => row.number)),
    [[1, 2, 4], [3]],
  )
  t.deepEqual(
    now.map(({row}) => row.isCanary === true),
    [true, true, false],
  )
})
