import test from 'ava'
import {startTestDeployment} from '../support/test-deployment.ts'
import {assertSeed} from './assert-seed.ts'
import {environment, type Ground, openGround} from './carried.ts'

let ground: Ground

test.before(async t => {
  ground = await openGround(await startTestDeployment(t, {workers: ['discovery'], environment}))
})

for (const seed of [2, 4, 5])
  test.serial(`records with a unique field are neither duplicated nor lost (seed ${seed})`, async t => {
    await assertSeed(t, ground, seed)
  })
