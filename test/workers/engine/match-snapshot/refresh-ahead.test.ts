import test from 'ava'
import {openRefreshAhead} from '../../../../workers/engine/match-snapshot/refresh-ahead.ts'

/** Opens data with a clock and updates that only the test moves and ends. */
const openData = () => {
  const updates: PromiseWithResolvers<void>[] = []
  const clock = {seconds: 0}
  const update = () => {
    const one = Promise.withResolvers<void>()
    updates.push(one)
    return one.promise
  }
  return {clock, updates, ...openRefreshAhead(update, () => clock.seconds * 1_000)}
}

const openFresh = async () => {
  const data = openData()
  const first = data.ensureFresh()
  data.updates[0]!.resolve()
  await first
  return data
}

test('callers wait for the first update together, and need no other one while the data is new', async t => {
  const {clock, updates, ensureFresh, idle} = openData()
  const waiting = Promise.all([ensureFresh(), ensureFresh()])
  t.is(updates.length, 1)
  updates[0]!.resolve()
  await waiting
  clock.seconds = 19
  await ensureFresh()
  await idle()
  t.is(updates.length, 1)
})

test('an update starts in the background before the data is too old, and callers wait only if it is not done by then', async t => {
  const {clock, updates, ensureFresh} = await openFresh()
  clock.seconds = 20
  await ensureFresh()
  await ensureFresh()
  t.is(updates.length, 2)
  clock.seconds = 30
  let isFresh = false
  const waiting = ensureFresh().then(() => (isFresh = true))
  await new Promise(setImmediate)
  t.false(isFresh)
  updates[1]!.resolve()
  await waiting
  clock.seconds = 39
  await ensureFresh()
  t.is(updates.length, 2, 'its age counts from its start')
  clock.seconds = 40
  await ensureFresh()
  t.is(updates.length, 3)
})

test('an update that fails in the background is not repeated until the data is too old, and then fails the caller', async t => {
  const {clock, updates, ensureFresh, idle} = await openFresh()
  clock.seconds = 25
  await ensureFresh()
  updates[1]!.reject(new Error('The CRM does not answer'))
  await idle()
  clock.seconds = 29
  await ensureFresh()
  t.is(updates.length, 2)
  clock.seconds = 30
  const waiting = ensureFresh()
  updates[2]!.reject(new Error('The CRM does not answer'))
  await t.throwsAsync(waiting, {message: 'The CRM does not answer'})
})

test('data whose update took too long is not fresh, and the next caller waits for another update', async t => {
  const {clock, updates, ensureFresh} = openData()
  const slow = ensureFresh()
  clock.seconds = 30
  updates[0]!.resolve()
  t.false(await slow)
  const next = ensureFresh()
  updates[1]!.resolve()
  t.true(await next)
})
