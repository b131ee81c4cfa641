import test from 'ava'
import {classify, type PlanPlace} from '../../../shared/billing/classify.ts'
import type {Pending} from '../../../shared/billing/subscription.ts'

/**
 * When a change of plan takes effect, written by hand. Rows: the current plan and interval. Columns: the new ones. `N`: now. `W`: at the
 * renewal. `.`: no change.
 */
const table: Record<string, string> = {
  //                 tm  ty  bm  by  em  ey
  'team.month': '     .   N   N   N   N   N',
  'team.year': '      W   .   W   N   W   N',
  'business.month': ' W   W   .   N   N   N',
  'business.year': '  W   W   W   .   W   N',
  'enterprise.month': 'W   W   W   W   .   N',
  'enterprise.year': ' W   W   W   W   W   .',
}
const places = Object.keys(table)
const ranks: Record<string, number> = {team: 20, business: 30, enterprise: 40}
const letters = {N: 'now', W: 'at_renewal'} as const

const placeOf = (name: string): PlanPlace => {
  const [planKey, interval] = name.split('.') as [string, 'month' | 'year']
  return {planKey, rank: ranks[planKey]!, interval}
}

const at = '2027-01-01T00:00:00.000Z'
const pendings: (Pending | null)[] = [
  null,
  {planKey: 'free', planVersionId: null, interval: null, at},
  ...places.map(name => ({planKey: placeOf(name).planKey, planVersionId: 'any.1', interval: placeOf(name).interval, at})),
]

for (const from of places) {
  test(`changes from ${from} are classified the same, whatever change is pending`, t => {
    for (const pending of pendings) {
      const waits = pending === null ? 'nothing' : `${pending.planKey} ${pending.interval}`
      for (const [column, to] of places.entries()) {
        const letter = table[from]!.trim().split(/ +/)[column] as 'N' | 'W' | '.'
        const expected = letter === '.' ? (pending === null ? null : 'take_back') : letters[letter]
        t.is(classify(placeOf(from), pending, placeOf(to)), expected, `to ${to} while ${waits} waits`)
      }
      t.is(classify(placeOf(from), pending, 'free'), 'cancel', `to free while ${waits} waits`)
    }
  })
}
