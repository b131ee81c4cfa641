import test from 'ava'
import {NO_ERRORS} from './judge.ts'
import {type Change, countFaultsOf} from './mutant.ts'
import {noClose, noFence} from './mutants.ts'

/** Proves that `npm run faults` notices faults: the safeguards that keep its counts at zero are removed one by one. */

/** Options for an import of rows without a unique field. The CRM does not notice if such rows create a second record. */
const seed = ['--seeds', '1', '--seed', '11', '--rows', '1500']

/** Options with which the first of two workers sleeps past its lease with unsettled answers. That worker wakes up after a takeover. */
const sleeping = [...seed, '--points', 'before_settle:2:SIGSTOP,before_settle:3:SIGSTOP']
/** Options with which one worker dies with unsettled answers, and usually the second worker too. */
const dying = [...seed, '--points', 'after_send:2,after_send:3']

/**
 * Returns the counts of a mutant. The timing of two workers depends on the machine: if a count named in `counts` is zero, the mutant runs again,
 * at most three times in all.
 */
const noticed = async (changes: Change[], asked: string[], counts: string[]) => {
  for (let look = 1; ; look++) {
    const mutant = await countFaultsOf(changes, asked)
    if (look === 3 || counts.every(count => mutant[count]! > 0)) return mutant
  }
}

test.serial('a worker that sleeps past its lease is noticed if nothing fences it off', async t => {
  t.timeout(400_000)
  const [whole, mutant] = await Promise.all([
    countFaultsOf([], sleeping),
    noticed(noFence, sleeping, ['sleeps', 'duplicated', 'undisclosed']),
  ])
  t.like(whole, {seeds: 1, ...NO_ERRORS})
  t.true(whole.sleeps! > 0 && mutant.sleeps! > 0)
  t.true(mutant.duplicated! > 0)
  t.true(mutant.undisclosed! > 0)
})

test.serial('a worker that dies is noticed if its rows in flight are not settled', async t => {
  t.timeout(400_000)
  const [whole, mutant] = await Promise.all([countFaultsOf([], dying), noticed(noClose, dying, ['kills', 'openAttempts', 'undisclosed'])])
  t.like(whole, {seeds: 1, ...NO_ERRORS})
  // The second worker dies only if it reaches the kill point before a replacement of the first worker takes the run.
  t.true(whole.kills! > 0 && mutant.kills! > 0)
  t.true(mutant.openAttempts! > 0)
  t.true(mutant.undisclosed! > 0)
})
