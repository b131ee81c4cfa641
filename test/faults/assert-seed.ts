import type {ExecutionContext} from 'ava'
import type {Ground} from './carried.ts'
import {NO_ERRORS} from './judge.ts'
import {runSeed} from './seed.ts'

const rows = 3_000

/** Runs one seed of scenario R1 with 3,000 rows and asserts that the judge finds no errors. `npm run faults` runs more seeds. */
export const assertSeed = async (t: ExecutionContext, ground: Ground, seed: number) => {
  t.timeout(400_000)
  const {errors, says, rows: run} = await runSeed(ground, seed, {rows})
  t.is(run, rows)
  t.deepEqual(errors, NO_ERRORS, says.join('\n'))
}
