import type {ExecutionContext} from 'ava'
import type {Ground} from './carried.ts'
import {NO_ERRORS} from './judge.ts'
import {runSeed} from './seed.ts'

const rows = 3_000

/** Plays one seed of row R1 and asserts that it has no errors. `npm run faults` plays more seeds. */
export const assertSeed = async (t: ExecutionContext, ground: Ground, seed: number) => {
  t.timeout(400_000)
  const {errors, says, rows: run} = await runSeed(ground, seed, {rows})
  t.is(run, rows)
  t.deepEqual(errors, NO_ERRORS, says.join('\n'))
}
