import test from 'ava'
import {openPollTimer} from '../../../../shared/crm/limits/poll-timer.ts'
import {until} from '../../../support/until.ts'

const open = (stepMs: () => number) => {
  const begun: number[] = []
  const timer = openPollTimer(async () => {
    begun.push(performance.now())
    return stepMs()
  })
  return {...timer, begun}
}

test('steps that follow one another begin at once, but at most five in a quarter of a second', async t => {
  const {soon, stop, begun} = open(() => 0)
  soon()
  await until(
    () => begun.length,
    count => count >= 16,
  )
  await stop()
  const spans = begun.slice(5).map((at, n) => at - begun[n]!)
  t.true(Math.min(...spans) > 245, `${spans}`)
  const count = begun.length
  soon()
  t.is(begun.length, count, 'a stopped timer begins no step')
})

test('a step waits for its time, unless `soon` is called', async t => {
  const {soon, idle, stop, begun} = open(() => Number.POSITIVE_INFINITY)
  t.is(begun.length, 0, 'the first step waits')
  for (let n = 1; n <= 3; n++) {
    soon()
    soon()
    await until(
      () => begun.length,
      count => count === n,
    )
    await idle()
  }
  t.is(begun.length, 3, 'two requests before a step are one')
  await stop()
})
