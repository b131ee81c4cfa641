import test from 'ava'
import {openSlots, type Slots} from '../../../../shared/crm/limits/slots.ts'

const never = new AbortController().signal

const open = (total: number, large = total) => {
  let isOpen = true
  let changes = 0
  const slots = openSlots({isOpen: () => isOpen, onChange: () => changes++, first: {large: 1, small: 0}})
  slots.resize({total, large})
  return {...slots, shut: (to = true) => (isOpen = !to), changes: () => changes}
}

/** Returns a function that takes a slot, and adds its name to `log` once the slot is granted. */
const taker = (slots: Slots, log: string[]) => (name: string, signal: AbortSignal) => slots.take(signal).then(() => void log.push(name))

test('the number of slots is limited, and waiters get them in order', async t => {
  const {large, report} = open(2)
  const log: string[] = []
  const take = taker(large, log)
  const taken = ['a', 'b', 'c', 'd'].map(name => take(name, never))
  await Promise.all(taken.slice(0, 2))
  t.deepEqual(log, ['a', 'b'])
  large.give()
  await taken[2]
  large.give()
  await taken[3]
  t.deepEqual(log, ['a', 'b', 'c', 'd'])
  large.give()
  large.give()
  t.is(report().inUse, 0)
})

test('a waiter whose signal aborts leaves the queue with its reason, and the next one gets the slot', async t => {
  const {large, report} = open(1)
  const log: string[] = []
  const take = taker(large, log)
  const gone = new AbortController()
  await take('a', never)
  const left = take('b', gone.signal)
  const next = take('c', never)
  const reason = new Error('called off')
  gone.abort(reason)
  t.is(await t.throwsAsync(left), reason)
  large.give()
  await next
  t.deepEqual(log, ['a', 'c'])
  large.give()
  t.is(report().inUse, 0)
})

test('an aborted signal takes no slot, even a free one', t => {
  const {large, report} = open(1)
  t.throws(() => large.take(AbortSignal.abort(new Error('over'))), {message: 'over'})
  t.is(report().inUse, 0)
})

test('a signal that aborts after its slot was given has no effect', async t => {
  const {large, report} = open(1)
  const late = new AbortController()
  await large.take(never)
  const waiting = large.take(late.signal)
  large.give()
  late.abort()
  await waiting
  t.is(report().inUse, 1)
})

test('large calls have a smaller limit and leave the other slots to small ones', async t => {
  const {large, small, report} = open(3, 2)
  const log: string[] = []
  const [takeLarge, takeSmall] = [taker(large, log), taker(small, log)]
  const third = ['a', 'b', 'c'].map(name => takeLarge(name, never))[2]
  await takeSmall('d', never)
  const fifth = takeSmall('e', never)
  t.deepEqual(log, ['a', 'b', 'd'])
  small.give()
  await fifth
  large.give()
  await third
  t.deepEqual(log, ['a', 'b', 'd', 'e', 'c'])
  t.is(report().inUse, 3)
})

test('a share reduced below its use gives out no slot until enough return, and reports what it still holds', async t => {
  const {large, resize, held, changes} = open(3)
  const log: string[] = []
  const take = taker(large, log)
  await Promise.all(['a', 'b', 'c'].map(name => take(name, never)))
  const waiting = take('d', never)
  resize({total: 1, large: 1})
  t.deepEqual(held(), {total: 3, large: 3})
  const before = changes()
  large.give()
  t.deepEqual([held(), changes()], [{total: 2, large: 2}, before + 1])
  large.give()
  t.deepEqual([held(), log], [{total: 1, large: 1}, ['a', 'b', 'c']])
  large.give()
  await waiting
  t.deepEqual(held(), {total: 1, large: 1})
})

test('no slot is given out while the share may have expired', async t => {
  const {large, resize, shut} = open(1)
  const log: string[] = []
  shut()
  const taken = taker(large, log)('a', never)
  t.deepEqual(log, [])
  shut(false)
  resize({total: 1, large: 1})
  await taken
  t.deepEqual(log, ['a'])
})

test('demand is kept for the window after it, and reported at once when it grows', async t => {
  const {large, want, report, nextWindow, changes} = open(1)
  t.deepEqual(report().want, {large: 1, small: 0}, 'a share just opened is about to be used')
  await large.take(never)
  const gone = new AbortController()
  const waiting = [large.take(gone.signal), large.take(gone.signal)]
  t.is(changes(), 2)
  t.is(want().large, 3)
  gone.abort(new Error('over'))
  await Promise.allSettled(waiting)
  large.give()
  const demands = [report(), report()].map(({want}) => want.large)
  for (let window = 0; window < 2; window++) {
    nextWindow()
    demands.push(want().large)
  }
  t.deepEqual(demands, [3, 3, 3, 0], 'reports do not shorten the window')
})

test('more demand than the last report triggers `onChange`, also after the demand fell without a report', async t => {
  const {large, report, nextWindow, changes} = open(0)
  const gone = new AbortController()
  const wait = () => large.take(gone.signal).catch(() => {})
  const waiting = [wait(), wait()]
  report()
  gone.abort()
  await Promise.all(waiting)
  nextWindow()
  nextWindow()
  const before = changes()
  const again = new AbortController()
  const more = [1, 2, 3].map(() => large.take(again.signal).catch(() => {}))
  t.is(changes(), before + 1, 'two calls fit the report')
  again.abort()
  await Promise.all(more)
})

test('a call that waits, because a call of the other size took its slot, triggers `onChange`', async t => {
  const {large, small, report, changes} = open(2)
  const gone = new AbortController()
  await Promise.all([large.take(never), large.take(never)])
  report()
  large.give()
  await small.take(never)
  t.is(changes(), 0, 'there was a free slot')
  const waiting = large.take(gone.signal)
  t.is(changes(), 1)
  gone.abort()
  await t.throwsAsync(waiting)
})

test('a waiter is notified when it is one of the first five in the queue', async t => {
  const {large} = open(1)
  const near: string[] = []
  const take = (name: string, signal = never) => large.take(signal, () => near.includes(name) || near.push(name))
  await take('a')
  const gone = new AbortController()
  const waiters = [take('b'), take('c', gone.signal), ...['d', 'e', 'f', 'g', 'h'].map(name => take(name))]
  t.is(near.join(''), 'bcdef')
  gone.abort(new Error('over'))
  await t.throwsAsync(waiters[1]!)
  t.is(near.join(''), 'bcdefg')
  large.give()
  await waiters[0]
  t.is(near.join(''), 'bcdefgh')
  for (const waiter of waiters.slice(2)) {
    large.give()
    await waiter
  }
  large.give()
})
