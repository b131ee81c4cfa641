import type {ExecutionContext} from 'ava'
import {ERRORS} from './judge.ts'
import {type Ground, runSeed} from './seed.ts'

const rows = 3_000

/** What `npm run faults` runs a hundred times. */
export const assertSeed = async (t: ExecutionContext, ground: Ground, seed: number) => {
  t.timeout(180_000)
  const {errors, says, rows: run} = await runSeed(ground, seed, {rows})
  t.is(run, rows)
  t.deepEqual(errors, Object.fromEntries(ERRORS.map(kind => [kind, 0])) as typeof errors, says.join('\n'))
}
