import test from 'ava'
import {startTestDeployment} from '../support/test-deployment.ts'
import {assertSeed} from './assert-seed.ts'
import {environment, type Ground, openGround} from './carried.ts'

let ground: Ground

test.before(async t => {
  ground = await openGround(await startTestDeployment(t, {workers: ['discovery'], environment}))
})

for (const seed of [1, 3, 6])
  test.serial(`records without a unique field are not lost, and possible duplicates are reported (seed ${seed})`, async t => {
    await assertSeed(t, ground, seed)
  })
