import test from 'ava'
import {NO_ERRORS} from './judge.ts'
import {type Change, countFaultsOf} from './mutant.ts'

/** What `npm run faults` counts is worth what it notices: here the things that keep it at zero are taken away, one by one. */

/** Rows that nothing unique tells: a second record of one is noticed by nobody else. */
const seed = ['--seeds', '1', '--seed', '11', '--rows', '1500']

/** Whichever of the two workers is first sleeps past its lease with its answers in hand, and wakes beside its successor. */
const sleeping = [...seed, '--points', 'before_settle:2:SIGSTOP,before_settle:3:SIGSTOP']
/** One worker dies with its answers in hand, and mostly the other too. */
const dying = [...seed, '--points', 'after_send:2,after_send:3']

/** Whoever wakes up goes on as if the run were still its own. */
const noFence: Change[] = [
  {
    file: 'sql/ledger.ts',
    from: 'fence = $2::bigint and lease_until > lading_now() and stop is null',
    to: '$2::bigint > 0 and stop is null',
  },
  {
    file: 'sql/ledger.ts',
    from: 'fence = $2 and lease_until > lading_now() and settle_no = $3 - 1\n       and (select count(*) from gone) = cardinality($4)',
    to: '$2 > 0',
  },
  {
    file: 'sql/run-heads.ts',
    from: 'where run_no = $1::bigint and fence = $2::bigint and lease_until > lading_now()\n',
    to: 'where run_no = $1::bigint and $2::bigint > 0\n',
  },
]

/** What a dead worker had in flight is not written down by the next one. */
const noClose: Change[] = [{file: 'workers/engine/takeover.ts', from: 'of await listSends(ctx.db, ctx.run.no)', to: 'of [] as Send[]'}]

/** How two workers meet in time is the machine's: a mutant that got by is looked at again, at most twice. */
const noticed = async (changes: Change[], asked: string[], counts: string[]) => {
  for (let look = 1; ; look++) {
    const mutant = await countFaultsOf(changes, asked)
    if (look === 3 || counts.every(count => mutant[count]! > 0)) return mutant
  }
}

test.serial('a worker that sleeps past its lease is noticed once nothing fences it off', async t => {
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

test.serial('a worker that dies is noticed once nobody tells what it had in flight', async t => {
  t.timeout(400_000)
  const [whole, mutant] = await Promise.all([countFaultsOf([], dying), noticed(noClose, dying, ['kills', 'openAttempts', 'undisclosed'])])
  t.like(whole, {seeds: 1, ...NO_ERRORS})
  // The second dies only where it comes to that point before the first is replaced and has the run.
  t.true(whole.kills! > 0 && mutant.kills! > 0)
  t.true(mutant.openAttempts! > 0)
  t.true(mutant.undisclosed! > 0)
})
