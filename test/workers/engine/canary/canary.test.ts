import test from 'ava'
import {openCanary, openCanaryGates} from '../../../../workers/engine/canary/canary.ts'
import {compiledFlow, field, row} from '../fixtures.ts'

test('a row that was sent before does not wait for the canary', t => {
  const gates = openCanaryGates({canary: 2, canaryPassed: [], counts: []})!
  const canary = openCanary(...([{}, gates, {}] as unknown as Parameters<typeof openCanary>))
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
