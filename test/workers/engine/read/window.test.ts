import test from 'ava'
import fc from 'fast-check'
import {openRowWindow} from '../../../../workers/engine/read/window.ts'

test('the low-water mark of an empty window is where the run left off, then where the reader is', t => {
  const window = openRowWindow(7)
  t.is(window.lowWater(), 7)
  window.passOver(8)
  t.is(window.lowWater(), 8)
})

test('the low-water mark stays below the first unfinished row, however many later rows are finished', t => {
  const window = openRowWindow(0)
  for (const number of [1, 2, 3, 4]) window.enter(number, 1)
  for (const number of [4, 2, 3]) window.leave(number)
  t.deepEqual([window.lowWater(), window.count()], [0, 1])
  window.leave(1)
  t.deepEqual([window.lowWater(), window.count()], [4, 0])
})

test('a row that is sent again from below the low-water mark lowers it until the row is finished', t => {
  const window = openRowWindow(100)
  window.enter(40, 1)
  window.passOver(41)
  t.is(window.lowWater(), 39)
  window.leave(40)
  t.is(window.lowWater(), 100)
})

test('a window is stretched while its oldest row is thousands of rows behind', t => {
  const window = openRowWindow(0)
  for (let number = 1; number <= 5_002; number++) {
    window.enter(number, 1)
    if (number > 1) window.leave(number)
    t.is(window.isStretched(), number > 5_000)
  }
  window.leave(1)
  t.false(window.isStretched())
})

/** A random order of events: rows are read in order, some are passed over, and they finish in any order. */
const course = fc.record({
  start: fc.nat({max: 20}),
  passed: fc.array(fc.boolean(), {maxLength: 60}),
  picks: fc.array(fc.nat(), {minLength: 60, maxLength: 60}),
  ahead: fc.array(fc.nat({max: 5}), {minLength: 60, maxLength: 60}),
})

test('the low-water mark is the highest row below which every row read is finished', t => {
  fc.assert(
    fc.property(course, ({start, passed, picks, ahead}) => {
      const window = openRowWindow(start)
      const open: number[] = []
      let read = start
      const check = () => {
        const naive = open.length ? Math.min(...open) - 1 : read
        if (window.lowWater() !== naive || window.count() !== open.length) throw new Error(`${window.lowWater()} instead of ${naive}`)
        const size = open.reduce((sum, number) => sum + 10 + number, 0)
        if (window.size() !== size) throw new Error(`${window.size()} instead of ${size}`)
      }
      for (const [at, isPassed] of passed.entries()) {
        read++
        if (isPassed) window.passOver(read)
        else {
          window.enter(read, 10 + read)
          open.push(read)
        }
        check()
        for (let ends = 0; ends < ahead[at]! - 3 && open.length; ends++) {
          const [number] = open.splice(picks[at]! % open.length, 1)
          window.leave(number!)
          check()
        }
      }
    }),
  )
  t.pass()
})
