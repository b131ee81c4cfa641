import test from 'ava'
import {startTestDeployment} from '../support/test-deployment.ts'
import {environment, openGround} from './carried.ts'
import {runUndoSeed} from './undo-seed.ts'

/** Runs a small seed of R21. `npm run faults -- --only R21` runs six larger ones. */
test('an undo under faults leaves what the CRM held before the import, with all edits of people', async t => {
  t.timeout(180_000)
  const ground = await openGround(await startTestDeployment(t, {workers: ['discovery'], environment}))
  const {says, did} = await runUndoSeed(ground, 1, 200)
  t.deepEqual(says, [])
  t.true(did.edits > 0 && did.faults > 0 && did.kills > 0, JSON.stringify(did))
})
