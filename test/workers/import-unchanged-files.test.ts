import test from 'ava'
import {fuzzUnchanged, unchangedEnvironment} from '../fuzz/unchanged.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

/** `npm run fuzz -- --imports 500` runs more files. */
test('random files leave the same records with and without skipping, and each import writes only the rows that change their record', async t => {
  t.timeout(240_000)
  const here = await startTestDeployment(t, {
    workers: ['discovery', 'imports'],
    environment: unchangedEnvironment,
  })
  await t.notThrowsAsync(fuzzUnchanged(here, {cases: 25, seed: 22}))
})
