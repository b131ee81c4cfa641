import test from 'ava'
import {world} from '../world.ts'
import {assertSeed} from './assert-seed.ts'
import {environment, type Ground, openGround} from './carried.ts'

let ground: Ground

test.before(async t => {
  ground = await openGround(await world(t, {workers: ['discovery'], environment}))
})

for (const seed of [2, 4, 5])
  test.serial(`with a unique field: no record twice, none lost (seed ${seed})`, async t => {
    await assertSeed(t, ground, seed)
  })
