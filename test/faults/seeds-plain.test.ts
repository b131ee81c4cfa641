import test from 'ava'
import {world} from '../world.ts'
import {assertSeed} from './assert-seed.ts'
import {environment, type Ground, openGround} from './carried.ts'

let ground: Ground

test.before(async t => {
  ground = await openGround(await world(t, {workers: ['discovery'], environment}))
})

for (const seed of [1, 3, 6])
  test.serial(`without a unique field: none lost, and what may be there twice is told (seed ${seed})`, async t => {
    await assertSeed(t, ground, seed)
  })
