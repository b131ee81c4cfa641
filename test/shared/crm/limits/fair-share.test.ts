import test from 'ava'
import fc from 'fast-check'
import {allocateSlots, divideFairly, isContended, limitDemand, type SlotClaim} from '../../../../shared/crm/limits/fair-share.ts'

const wants = fc.array(fc.integer({min: 0, max: 30}), {maxLength: 12})
const slots = fc.integer({min: 1, max: 25})
const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0)
const wanting = (all: number[]) => all.filter(want => want > 0).length

test('shares never exceed the total or the demand, and leave no slot free that is wanted', t => {
  fc.assert(
    fc.property(slots, wants, fc.nat(1_000_000), (total, all, turn) => {
      const got = divideFairly(total, all, turn)
      t.true(got.every((count, at) => count >= 0 && count <= all[at]!))
      t.is(sum(got), Math.min(total, sum(all)))
    }),
  )
  t.pass()
})

test('a share below its demand is at most one slot smaller than any other', t => {
  fc.assert(
    fc.property(slots, wants, (total, all) => {
      fc.pre(wanting(all) <= total)
      const got = divideFairly(total, all, 0)
      const most = Math.max(0, ...got)
      for (const [at, count] of got.entries()) {
        if (count < all[at]!) t.true(count >= most - 1, `${all} of ${total}: ${got}`)
        if (all[at]! > 0) t.true(count >= 1)
      }
    }),
  )
  t.deepEqual(divideFairly(10, [1, 50, 50, 2], 0), [1, 4, 3, 2])
  t.deepEqual(divideFairly(10, [100, 3], 0), [7, 3])
})

test('if more runs want slots than there are, each gets one in turn', t => {
  fc.assert(
    fc.property(slots, wants, fc.nat(1_000_000), (total, all, from) => {
      const runs = wanting(all)
      fc.pre(runs > total)
      const turns = Array.from({length: runs}, (_, n) => divideFairly(total, all, from + n))
      for (const got of turns) t.true(got.every(count => count <= 1))
      for (const [at, want] of all.entries()) t.is(sum(turns.map(got => got[at]!)), want > 0 ? total : 0)
    }),
  )
  t.pass()
})

/** A share. `claim`: its row in Postgres. `limit` and `inUse`: its state in the process. */
type Share = {claim: SlotClaim; limit: SlotClaim['held']; inUse: {large: number; small: number}}

const step = fc.record({
  who: fc.nat(5),
  what: fc.constantFrom('renew', 'renew', 'want', 'begin large', 'begin small', 'end large', 'end small', 'join', 'leave', 'die'),
  number: fc.nat(30),
})

const openModel = () => {
  const shares = new Map<number, Share>()
  const used = ({inUse}: Share) => inUse.large + inUse.small
  const renew = (who: number, total: number, turn: number) => {
    const share = shares.get(who)
    if (!share) return
    const held = {total: Math.max(share.limit.total, used(share)), large: Math.max(share.limit.large, share.inUse.large)}
    const others = [...shares].filter(([other]) => other !== who).map(([, {claim}]) => claim)
    const [allotted] = allocateSlots({total, turn}, others, [{...share.claim, held}])
    shares.set(who, {...share, claim: {...share.claim, held: allotted!.held}, limit: allotted!.limit})
  }
  const take = ({who, what, number}: {who: number; what: string; number: number}, total: number) => {
    const none = {total: 0, large: 0}
    if (what === 'join' && !shares.has(who)) {
      shares.set(who, {claim: {key: String(who), demand: {large: 1, small: 0}, held: none}, limit: none, inUse: {large: 0, small: 0}})
    }
    const share = shares.get(who)
    if (!share) return
    const {inUse, limit, claim} = share
    if (what === 'renew') renew(who, total, number)
    if (what === 'want') claim.demand = {large: number, small: number % 4}
    if (what === 'begin large' && used(share) < limit.total && inUse.large < limit.large) inUse.large++
    if (what === 'begin small' && used(share) < limit.total) inUse.small++
    if (what === 'end large' && inUse.large > 0) inUse.large--
    if (what === 'end small' && inUse.small > 0) inUse.small--
    if (what === 'die' || (what === 'leave' && used(share) === 0)) shares.delete(who)
  }
  return {shares, renew, take, used}
}

test('at any time all shares hold at most the budget, and use at most what they hold', t => {
  fc.assert(
    fc.property(slots, fc.array(step, {maxLength: 120}), (total, steps) => {
      const {shares, take, used} = openModel()
      for (const one of steps) {
        take(one, total)
        const all = [...shares.values()]
        t.true(sum(all.map(({claim}) => claim.held.total)) <= total)
        t.true(sum(all.map(({claim}) => claim.held.large)) <= Math.min(total, 10))
        for (const share of all) t.true(used(share) <= share.claim.held.total && share.inUse.large <= share.claim.held.large)
      }
    }),
  )
  t.pass()
})

test('once calls end, every share is at its target within two renewals', t => {
  fc.assert(
    fc.property(slots, slots, fc.array(step, {maxLength: 80}), (total, later, steps) => {
      const {shares, renew, take} = openModel()
      for (const one of steps) take(one, total)
      for (const share of shares.values()) share.inUse = {large: 0, small: 0}
      for (let round = 0; round < 3; round++) for (const who of shares.keys()) renew(who, later, 7)
      const all = [...shares.values()].toSorted((a, b) => (a.claim.key < b.claim.key ? -1 : 1))
      const large = divideFairly(
        Math.min(later, 10),
        all.map(({claim}) => claim.demand.large),
        7,
      )
      const due = divideFairly(
        later,
        all.map(({claim}, at) => claim.demand.small + large[at]!),
        7,
      )
      t.deepEqual(
        all.map(({limit}) => limit),
        due.map((count, at) => ({total: count, large: Math.min(count, large[at]!)})),
      )
    }),
  )
})

const demands = fc.array(fc.record({large: fc.integer({min: 0, max: 30}), small: fc.integer({min: 0, max: 30})}), {
  minLength: 1,
  maxLength: 8,
})
const claimsOf = (all: {large: number; small: number}[]) =>
  all.map((demand, at): SlotClaim => ({key: `${at}`, demand, held: {total: 0, large: 0}}))

test('demand above what the pool could grant to one share changes no allocation', t => {
  fc.assert(
    fc.property(slots, demands, fc.nat(1_000), (total, all, turn) => {
      const budget = {total, turn}
      const limited = all.map(demand => limitDemand(budget, demand))
      t.deepEqual(allocateSlots(budget, [], claimsOf(limited)), allocateSlots(budget, [], claimsOf(all)))
      t.is(isContended(budget, claimsOf(limited)), isContended(budget, claimsOf(all)))
    }),
  )
})

test('a pool is contended if and only if a share would get more without the others', t => {
  fc.assert(
    fc.property(slots, demands, fc.nat(1_000), (total, all, turn) => {
      const budget = {total, turn}
      const together = allocateSlots(budget, [], claimsOf(all))
      const isMoreAlone = all.some((demand, at) => {
        const alone = allocateSlots(budget, [], claimsOf([demand]))[0]!.target
        return alone.total > together[at]!.target.total || alone.large > together[at]!.target.large
      })
      t.is(isContended(budget, claimsOf(all)), isMoreAlone)
    }),
  )
})

test('a reserved slot goes to a share without slots only', t => {
  const claim = (key: string, held: number): SlotClaim => ({key, demand: {large: 10, small: 0}, held: {total: held, large: held}})
  const heldWith = (reserved: number, others: SlotClaim[], mine: SlotClaim[]) =>
    allocateSlots({total: 10, turn: 0, reserved}, others, mine).map(({held}) => held.large)
  t.deepEqual(heldWith(1, [], [claim('large', 7)]), [9])
  t.deepEqual(heldWith(0, [], [claim('large', 7)]), [10])
  t.deepEqual(heldWith(1, [claim('large', 9)], [claim('new', 0)]), [1])
  t.deepEqual(heldWith(1, [], [claim('large', 10)]), [10], 'no share must return a slot for it')
})
