import test from 'ava'
import {readLibrary} from '../../../shared/expressions/library.ts'
import {LIMITS} from '../../../shared/expressions/limits.ts'
import {ModuleProblem} from '../../../shared/expressions/module-source.ts'
import type {Fault} from '../../../shared/expressions/protocol.ts'
import {openSandbox, type Sandbox} from '../../../shared/expressions/sandbox.ts'
import {bombs} from './bombs.ts'

/** One sandbox for all bombs and nothing else. Other work thus does not count in the time of a bomb, and damage by the previous bomb shows. */
let sandbox: Sandbox
/** The faults of the last bomb: one, or two if the bomb was retried in fresh memory. */
let faults: Fault[] = []
test.before(() => {
  sandbox = openSandbox({onFault: fault => faults.push(fault)})
})
test.after.always(() => sandbox.close())

const libraryOf = (source: string) =>
  readLibrary({
    source,
    manifest: {
      namespace: 'bomb',
      version: '1.0.0',
      scope: 'org',
      description: '',
      functions: [{name: 'go', description: '', parameters: [], examples: []}],
    },
  })

const explode = async (source: string, library: string | undefined) => {
  try {
    const libraries = library ? [libraryOf(library)] : []
    const [row] = await sandbox.evaluate({...batch, libraries, expressions: {bomb: source}})
    const outcome = row!.bomb
    return 'error' in outcome
      ? {code: outcome.error.code, says: outcome.error.message}
      : {code: 'value' as const, says: JSON.stringify(outcome.value)}
  } catch (error) {
    if (error instanceof ModuleProblem) return {code: 'LIBRARY_LOAD' as const, says: error.message}
    throw error
  }
}

const batch = {rows: [{n: 41}], clock: 0, seed: 'bombs'}

/** Longest time in ms until a row is ended, or its end is requested: twice the limit of a row. */
const longest = LIMITS.rowMilliseconds * 2
/**
 * Time in ms besides the row itself, for ending a thread, starting the next and loading the program. A start may take as long on a busy machine.
 */
const around = LIMITS.startMilliseconds

/** Resolution of a timer in ms. A delay up to this does not count as lateness. */
const timerMilliseconds = 2

/**
 * Measures how long this thread is blocked, by the delay of timers of 4 ms. The returned function returns the sum in ms. The timer that ends a
 * row may be late by as much.
 */
const watchLateness = () => {
  let late = 0
  let due = performance.now()
  const count = () => {
    const now = performance.now()
    if (now - due > timerMilliseconds) late += now - due
    due = now + 4
  }
  const timer = setInterval(count, 4)
  return () => {
    clearInterval(timer)
    count()
    return late
  }
}

test('there are at least sixty bombs with distinct names', t => {
  t.true(new Set(bombs.map(({name}) => name)).size >= 60)
  t.is(new Set(bombs.map(({name}) => name)).size, bombs.length)
})

for (const {name, source, library, ends} of bombs)
  test.serial(`${name} is answered in time, and the next evaluation works`, async t => {
    t.deepEqual(await sandbox.evaluate({...batch, expressions: {next: 'row.n + 1'}}), [{next: {value: 42}}])
    faults = []
    const before = performance.now()
    const lateness = watchLateness()
    const {code, says} = await explode(source, library)
    const late = lateness()
    const took = performance.now() - before
    t.true(ends.includes(code), `${code}: ${says.slice(0, 200)}`)
    for (const {after} of faults) t.true(after <= longest + late, `ended after ${after.toFixed(0)} ms, late by ${late.toFixed(0)}`)
    t.true(took < Math.max(1, faults.length) * longest + late + around, `${took.toFixed(0)} ms`)
    t.regex(says, /\w|""/)
    t.deepEqual(await sandbox.evaluate({...batch, expressions: {next: 'row.n + 1'}}), [{next: {value: 42}}])
  })
