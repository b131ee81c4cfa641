import test from 'ava'
import {openSlots} from '../../../workers/engine/slots.ts'

const never = new AbortController().signal

/** Takes a slot and tells in `log` when it has it. */
const taker = (slots: ReturnType<typeof openSlots>, log: string[]) => (name: string, signal: AbortSignal) =>
  slots.take(signal).then(() => void log.push(name))

test('no more than so many are held, and waiters have their turn in order', async t => {
  const slots = openSlots(2)
  const log: string[] = []
  const take = taker(slots, log)
  const taken = ['a', 'b', 'c', 'd'].map(name => take(name, never))
  await Promise.all(taken.slice(0, 2))
  t.deepEqual(log, ['a', 'b'])
  t.is(slots.free(), 0)
  slots.give()
  await taken[2]
  slots.give()
  await taken[3]
  t.deepEqual(log, ['a', 'b', 'c', 'd'])
  slots.give()
  slots.give()
  t.is(slots.free(), 2)
})

test('a waiter whose signal aborts leaves the line with its reason, and the slot goes to the next', async t => {
  const slots = openSlots(1)
  const log: string[] = []
  const take = taker(slots, log)
  const gone = new AbortController()
  await take('a', never)
  const left = take('b', gone.signal)
  const next = take('c', never)
  const reason = new Error('called off')
  gone.abort(reason)
  t.is(await t.throwsAsync(left), reason)
  slots.give()
  await next
  t.deepEqual(log, ['a', 'c'])
  slots.give()
  t.is(slots.free(), 1)
})

test('a signal that has aborted takes nothing, even from a free slot', t => {
  const slots = openSlots(1)
  t.throws(() => slots.take(AbortSignal.abort(new Error('over'))), {message: 'over'})
  t.is(slots.free(), 1)
})

test('a signal that aborts after its slot was given changes nothing', async t => {
  const slots = openSlots(1)
  const late = new AbortController()
  await slots.take(never)
  const waiting = slots.take(late.signal)
  slots.give()
  late.abort()
  await waiting
  t.is(slots.free(), 0)
  slots.give()
  t.is(slots.free(), 1)
})
