import {setImmediate} from 'node:timers/promises'
import test from 'ava'
import {mapConcurrent} from '../../../shared/concurrency/map-concurrent.ts'

test('after a failure no further item starts, and the items in progress end first', async t => {
  const slow = Promise.withResolvers<void>()
  const [started, ended]: [number[], number[]] = [[], []]
  let isOver = false
  const mapped = mapConcurrent([0, 1, 2, 3], 2, async item => {
    started.push(item)
    if (item === 0) throw new Error('first')
    await slow.promise
    ended.push(item)
  }).finally(() => {
    isOver = true
  })
  const failure = t.throwsAsync(mapped, {message: 'first'})
  await setImmediate()
  t.false(isOver)
  slow.resolve()
  await failure
  t.deepEqual([started, ended], [[0, 1], [1]])
})
