import test from 'ava'
import fc from 'fast-check'
import {allocateSlots, type SlotClaim} from '../../../../shared/crm/limits/fair-share.ts'
import {listAffected} from '../../../../shared/crm/limits/renew-shares.ts'

type Claim = SlotClaim & {holder: string}

const claim = (holder: string, large: number, held = 0): Claim => ({
  holder,
  key: `1 ${holder} 1`,
  demand: {large, small: 0},
  held: {total: held, large: held},
})
const budget = {total: 10, turn: 0}

test('a share that takes free slots and leaves all others satisfied affects no other process', t => {
  t.deepEqual(listAffected(budget, [claim('a', 4, 4)], [claim('a', 4, 4), claim('b', 6, 6)]), ['b'])
})

test('a share that needs slots of another concerns that process, also if it must return none yet', t => {
  t.deepEqual(listAffected(budget, [claim('a', 10, 10)], [claim('a', 10, 10), claim('b', 1)]), ['a', 'b'])
  t.deepEqual(listAffected(budget, [claim('a', 5, 5)], [claim('a', 5, 5), claim('b', 10, 5)]), ['a', 'b'])
})

test('a slot that is returned concerns the process that returned it and the one that waits for it, but no other', t => {
  t.deepEqual(
    listAffected(budget, [claim('a', 0, 9), claim('b', 10, 1), claim('c', 0)], [claim('a', 0, 8), claim('b', 10, 1), claim('c', 0)]),
    ['a', 'b'],
  )
})

test('a demand above what the pool could grant affects no other process', t => {
  t.deepEqual(listAffected(budget, [claim('a', 12, 10)], [claim('a', 25, 10)]), [])
})

test('the previous owner of a run that was taken over is affected', t => {
  t.deepEqual(listAffected(budget, [claim('a', 3, 3)], [claim('b', 3, 3)]), ['a', 'b'])
})

const demand = fc.record({large: fc.integer({min: 0, max: 25}), small: fc.integer({min: 0, max: 25})})
const processes = fc.array(fc.array(demand, {minLength: 1, maxLength: 3}), {minLength: 1, maxLength: 6})
const pool = fc.record({total: fc.integer({min: 1, max: 25}), turn: fc.nat(100)})
const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0)

test('notifications end, and then no further renewal changes an allocation', t => {
  fc.assert(
    fc.property(pool, processes, fc.infiniteStream(fc.nat()), (budget, all, choices) => {
      let claims: Claim[] = []
      const wants = new Map(all.map((demands, at) => [`p${at}`, demands]))
      /** The limit of each share after its last renewal. As in a process, slots above a lowered limit are returned in the next renewal. */
      const limits = new Map<string, {total: number; large: number}>()
      const renew = (holder: string) => {
        const mine = wants.get(holder)!.map((demand, at): Claim => {
          const key = `${at} ${holder}`
          return {holder, key, demand, held: limits.get(key) ?? {total: 0, large: 0}}
        })
        const others = claims.filter(claim => claim.holder !== holder)
        const allotted = allocateSlots(budget, others, mine)
        const after = [...others, ...mine.map((claim, at) => ({...claim, held: allotted[at]!.held}))]
        const affected = listAffected(budget, claims, after).filter(name => name !== holder)
        claims = after
        for (const [at, {key}] of mine.entries()) limits.set(key, allotted[at]!.limit)
        const returns = mine.some(
          (_, at) => allotted[at]!.limit.total < allotted[at]!.held.total || allotted[at]!.limit.large < allotted[at]!.held.large,
        )
        return returns ? [...affected, holder] : affected
      }
      const waiting = new Set(wants.keys())
      for (let renewals = 0; waiting.size; renewals++) {
        t.true(renewals < 1_000, 'the processes do not fall silent')
        const names = [...waiting]
        const name = names[choices.next().value! % names.length]!
        waiting.delete(name)
        for (const other of renew(name)) waiting.add(other)
        t.true(sum(claims.map(({held}) => held.total)) <= budget.total)
      }
      const silent = JSON.stringify(claims.toSorted((a, b) => (a.key < b.key ? -1 : 1)))
      for (const name of wants.keys()) {
        t.deepEqual(renew(name), [])
        t.is(JSON.stringify(claims.toSorted((a, b) => (a.key < b.key ? -1 : 1))), silent)
      }
    }),
  )
})
