import {insertShares, lockBudget, notifyHolders, type ShareRow, takeShares} from '../../../sql/budgets.ts'
import type {CrmOrg} from '../../../sql/crm-quota.ts'
import type {Pool} from '../../../sql/database.ts'
import {
  allocateSlots,
  isContended,
  type SlotAllocation,
  type SlotBudget,
  type SlotClaim,
  type SlotCounts,
  type SlotDemand,
} from './fair-share.ts'

/** A process's report on one of its shares. `fresh`: the share is not stored yet. */
type ShareReport = {share: number; run: number | null; fresh: boolean; held: SlotCounts; inUse: number; want: SlotDemand}
type RenewInput = {org: CrmOrg; holder: string; cap: number; reports: ShareReport[]}
/**
 * `allotted`: one allocation for each report, in the same order. `changesInMs`: the time until the next turn begins or the reservation ends, in ms;
 * `Infinity` if neither applies.
 */
export type RenewalResult = {allotted: SlotAllocation[]; budget: SlotBudget; isContended: boolean; changesInMs: number}

/**
 * Renews the shares of this process in one short transaction under the budget's row lock. A process that opens a share for a run has taken over
 * the run, so the earlier process loses its share of that run. Notifies each other process whose allocation changes, or will change when the
 * reservation ends.
 */
export const renewShares = (db: Pool, {org, holder, cap, reports}: RenewInput): Promise<RenewalResult> =>
  db.transaction(async tx => {
    const {turnMs, reservedMs, ...unreserved} = await lockBudget(tx, org, cap)
    const budget = {...unreserved, reserved: reservedMs > 0 ? 1 : 0}
    const takenOver = reports.flatMap(({run, fresh}) => (fresh && run !== null ? [run] : []))
    const before = (await takeShares(tx, org, {holder, takenOver})).map(row => ({...claimOf(row), replaced: row.replaced}))
    const others = before.filter(({replaced}) => !replaced)
    const mine = reports.map(({share, run, want, held}) => ({holder, key: keyOf({holder, share, run}), demand: want, held}))
    const allotted = allocateSlots(budget, others, mine)
    const after = [...others, ...mine.map((claim, at) => ({...claim, held: allotted[at]!.held}))]
    await insertShares(
      tx,
      org,
      reports.map((report, at) => rowOf(holder, report, allotted[at]!)),
    )
    const affected = listAffected(unreserved, before, after).filter(name => name !== holder)
    if (affected.length) await notifyHolders(tx, org, affected)
    const wanting = after.filter(({demand: {large, small}}) => large + small > 0)
    const changesInMs = Math.min(wanting.length > budget.total ? turnMs : Number.POSITIVE_INFINITY, reservedMs || Number.POSITIVE_INFINITY)
    return {allotted, budget, isContended: isContended(budget, after), changesInMs}
  })

type HeldClaim = SlotClaim & {holder: string}

/**
 * Lists the holders whose next renewal has another result with `after` than with `before`. Only these holders are notified, so notifications stop
 * once the allocation is stable.
 */
export const listAffected = (budget: SlotBudget, before: HeldClaim[], after: HeldClaim[]): string[] => {
  const holders = [...new Set([...before, ...after].map(({holder}) => holder))]
  if (isContended(budget, before) !== isContended(budget, after)) return holders
  return holders.filter(holder => describeAllocation(budget, before, holder) !== describeAllocation(budget, after, holder))
}

const describeAllocation = (budget: SlotBudget, claims: HeldClaim[], holder: string) => {
  const others = claims.filter(claim => claim.holder !== holder)
  const mine = claims.filter(claim => claim.holder === holder).toSorted((a, b) => (a.key < b.key ? -1 : 1))
  return JSON.stringify(allocateSlots(budget, others, mine).map(({held, limit}, at) => [mine[at]!.key, held, limit]))
}

const rowOf = (holder: string, {share, run, want, inUse}: ShareReport, {held}: SlotAllocation) => ({
  holder,
  share,
  run,
  inUse,
  want: want.large + want.small,
  wantLarge: want.large,
  got: held.total,
  gotLarge: held.large,
})

/** Returns the sort key of a share, equal in every process. Shares without a run come first, then shares by ascending run id. */
const keyOf = ({run, holder, share}: Pick<ShareRow, 'run' | 'holder' | 'share'>) =>
  `${String(run ?? 0).padStart(16, '0')} ${holder} ${share}`

const claimOf = (row: ShareRow): HeldClaim => ({
  holder: row.holder,
  key: keyOf(row),
  demand: {large: row.wantLarge, small: row.want - row.wantLarge},
  held: {total: row.got, large: row.gotLarge},
})
