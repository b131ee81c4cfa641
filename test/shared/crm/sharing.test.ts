import test from 'ava'
import fc from 'fast-check'
import {allot, type Claim, shareOut} from '../../../shared/crm/sharing.ts'

const wants = fc.array(fc.integer({min: 0, max: 30}), {maxLength: 12})
const slots = fc.integer({min: 1, max: 25})
const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0)
const wanting = (all: number[]) => all.filter(want => want > 0).length

test('shares never pass what there is or what is wanted, and leave nothing free that somebody wants', t => {
  fc.assert(
    fc.property(slots, wants, fc.nat(1_000_000), (total, all, turn) => {
      const got = shareOut(total, all, turn)
      t.true(got.every((count, at) => count >= 0 && count <= all[at]!))
      t.is(sum(got), Math.min(total, sum(all)))
    }),
  )
  t.pass()
})

test('nobody could have more but from one who has no more than he', t => {
  fc.assert(
    fc.property(slots, wants, (total, all) => {
      fc.pre(wanting(all) <= total)
      const got = shareOut(total, all, 0)
      const most = Math.max(0, ...got)
      for (const [at, count] of got.entries()) {
        if (count < all[at]!) t.true(count >= most - 1, `${all} of ${total}: ${got}`)
        if (all[at]! > 0) t.true(count >= 1)
      }
    }),
  )
  t.deepEqual(shareOut(10, [1, 50, 50, 2], 0), [1, 4, 3, 2])
  t.deepEqual(shareOut(10, [100, 3], 0), [7, 3])
})

test('where more want than there are slots, each has one in his turn', t => {
  fc.assert(
    fc.property(slots, wants, fc.nat(1_000_000), (total, all, from) => {
      const runs = wanting(all)
      fc.pre(runs > total)
      const turns = Array.from({length: runs}, (_, n) => shareOut(total, all, from + n))
      for (const got of turns) t.true(got.every(count => count <= 1))
      for (const [at, want] of all.entries()) t.is(sum(turns.map(got => got[at]!)), want > 0 ? total : 0)
    }),
  )
  t.pass()
})

/** A share as its process knows it, and what Postgres holds of it. */
type Share = {claim: Claim; limit: Claim['held']; inUse: {large: number; small: number}}

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
    const [allotted] = allot({total, turn}, others, [{...share.claim, held}])
    shares.set(who, {...share, claim: {...share.claim, held: allotted!.held}, limit: allotted!.limit})
  }
  const take = ({who, what, number}: {who: number; what: string; number: number}, total: number) => {
    const none = {total: 0, large: 0}
    if (what === 'join' && !shares.has(who)) {
      shares.set(who, {claim: {key: String(who), want: {large: 1, small: 0}, held: none}, limit: none, inUse: {large: 0, small: 0}})
    }
    const share = shares.get(who)
    if (!share) return
    const {inUse, limit, claim} = share
    if (what === 'renew') renew(who, total, number)
    if (what === 'want') claim.want = {large: number, small: number % 4}
    if (what === 'begin large' && used(share) < limit.total && inUse.large < limit.large) inUse.large++
    if (what === 'begin small' && used(share) < limit.total) inUse.small++
    if (what === 'end large' && inUse.large > 0) inUse.large--
    if (what === 'end small' && inUse.small > 0) inUse.small--
    if (what === 'die' || (what === 'leave' && used(share) === 0)) shares.delete(who)
  }
  return {shares, renew, take, used}
}

test('whoever asks when, all shares together hold no more than the budget, and use no more than they hold', t => {
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

test('once calls end, every share has what it is due, two renewals later', t => {
  fc.assert(
    fc.property(slots, slots, fc.array(step, {maxLength: 80}), (total, later, steps) => {
      const {shares, renew, take} = openModel()
      for (const one of steps) take(one, total)
      for (const share of shares.values()) share.inUse = {large: 0, small: 0}
      for (let round = 0; round < 3; round++) for (const who of shares.keys()) renew(who, later, 7)
      const all = [...shares.values()].toSorted((a, b) => (a.claim.key < b.claim.key ? -1 : 1))
      const large = shareOut(
        Math.min(later, 10),
        all.map(({claim}) => claim.want.large),
        7,
      )
      const due = shareOut(
        later,
        all.map(({claim}, at) => claim.want.small + large[at]!),
        7,
      )
      t.deepEqual(
        all.map(({limit}) => limit),
        due.map((count, at) => ({total: count, large: Math.min(count, large[at]!)})),
      )
    }),
  )
})
