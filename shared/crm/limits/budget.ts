import {randomUUID} from 'node:crypto'
import {hostname} from 'node:os'
import {cutBudget, deleteShare, insertShares, lockBudget, type ShareRow, shareSeconds, takeShares} from '../../../sql/budgets.ts'
import {type CrmOrg, findCrmQuota} from '../../../sql/crm-quota.ts'
import type {Pool} from '../../../sql/database.ts'
import type {Config} from '../../config.ts'
import type {Log} from '../../telemetry/log.ts'
import {allocateSlots, type SlotAllocation, type SlotClaim, type SlotCounts} from './fair-share.ts'
import {openPollTimer} from './poll-timer.ts'
import {type LiveSlots, openSlots, type Slots} from './slots.ts'

/** The slots of one run at its CRM org. Large calls are queries, and writes of more than ten records. */
export type SlotShare = {
  large: Slots
  small: Slots
  /** Shrinks the org's budget for a while. Call this if the CRM refused because of too many concurrent calls. Never throws. */
  cut(): Promise<void>
  close(): Promise<void>
}

/** The part of this process in every CRM org's concurrency budget. All processes share the budgets through Postgres. */
export type Budget = {
  open(org: CrmOrg, run: number | null): SlotShare
  close(): Promise<void>
}

type BudgetDeps = {db: Pool; config: Pick<Config, 'CRM_SLOTS'>; log: Log}

/** The demand of a run before its first call: one batch. Other shares have no demand before their first call. */
const oneLargeSlot = {large: 1, small: 0}
const noSlots = {large: 0, small: 0}
/** The interval of renewals. A new share waits at most this long until other shares make room. */
const everyMs = 250
/** The interval while shares are below their target or take turns. */
const eagerMs = 100
/** A process stops using a share this long before other processes may take it. */
const marginMs = 2_000

export const openBudget = (deps: BudgetDeps): Budget => {
  const holder = `${hostname()}:${process.pid}:${randomUUID()}`
  const orgs = new Map<string, ShareHolder>()
  let shares = 0
  return {
    open(org, run) {
      const key = `${org.dc}.${org.crmOrgId}`
      const party = orgs.get(key) ?? openShareHolder(deps, org, holder)
      orgs.set(key, party)
      return party.join(++shares, run)
    },
    async close() {
      await Promise.all([...orgs.values()].map(({close}) => close()))
    },
  }
}

type ShareHolder = {join(share: number, run: number | null): SlotShare; close(): Promise<void>}
/** A share of this process. `fresh`: the share is not stored yet. */
type Member = {run: number | null; slots: LiveSlots; fresh: boolean}

/** The shares of this process in one CRM org, renewed together. */
const openShareHolder = ({db, config, log}: BudgetDeps, org: CrmOrg, holder: string): ShareHolder => {
  const cap = openSlotCap(db, org, config.CRM_SLOTS)
  const members = new Map<number, Member>()
  let openUntil = Number.NEGATIVE_INFINITY

  const renew = async () => {
    const since = performance.now()
    const reports = [...members].map(([share, member]) => ({share, ...member, ...member.slots.report()}))
    if (reports.length === 0) return Number.POSITIVE_INFINITY
    try {
      const {allotted, isCrowded} = await renewShares(db, {org, holder, cap: await cap(), reports})
      openUntil = since + shareSeconds * 1000 - marginMs
      for (const [at, {share, slots}] of reports.entries()) {
        const member = members.get(share)
        if (member) member.fresh = false
        slots.resize(allotted[at]!.limit)
      }
      if (reports.some(({slots}, at) => isLess(slots.held(), allotted[at]!.held))) return 0
      return isCrowded || allotted.some(isShort) ? eagerMs : everyMs
    } catch (error) {
      log.warn({err: error, ...org}, 'could not renew the shares of the CRM budget')
      return eagerMs
    }
  }
  const pollTimer = openPollTimer(renew)
  const isOpen = () => performance.now() < openUntil

  return {
    join(share, run) {
      const slots = openSlots({isOpen, onChange: pollTimer.soon, first: run === null ? noSlots : oneLargeSlot})
      members.set(share, {run, slots, fresh: true})
      pollTimer.soon()
      return {
        large: slots.large,
        small: slots.small,
        async cut() {
          const total = await cutBudget(db, org).catch(error => void log.warn({err: error, ...org}, 'could not cut the CRM budget'))
          if (total) log.info({...org, total}, 'CRM budget cut')
          pollTimer.soon()
        },
        async close() {
          members.delete(share)
          // The shares are deleted only after a renewal in progress, which would store them again.
          await pollTimer.idle()
          await deleteShare(db, org, {holder, share}).catch(error =>
            log.warn({err: error, ...org}, 'could not delete the share of the CRM budget; it will expire'),
          )
        },
      }
    },
    close: pollTimer.stop,
  }
}

/** The concurrent calls that the CRM allows, by edition. Source: zoho.com/crm/developer/docs/api/v8/api-limits.html. */
const slotsOf: Record<string, number> = {
  free: 5,
  standard: 10,
  crmplusstarter: 10,
  zohoonestandard: 10,
  professional: 15,
  enterprise: 20,
  zohooneenterprise: 20,
  ultimate: 25,
  crmplus: 25,
}
/** Returns the concurrent calls of an edition; undefined for an unknown one. */
export const slotsOfEdition = (edition: string | null | undefined): number | undefined => slotsOf[edition?.toLowerCase() ?? '']

const editionEveryMs = 60_000

/** Returns a function that reads the limit of the org's edition, which may change. It returns `otherwise` while the edition is unknown. */
const openSlotCap = (db: Pool, org: CrmOrg, otherwise: number) => {
  let cap = otherwise
  let askedAt = Number.NEGATIVE_INFINITY
  return async () => {
    if (performance.now() - askedAt < editionEveryMs) return cap
    cap = slotsOfEdition((await findCrmQuota(db, org))?.edition) ?? otherwise
    askedAt = performance.now()
    return cap
  }
}

const isLess = (one: SlotCounts, than: SlotCounts) => one.total < than.total || one.large < than.large
const isShort = ({target, limit}: SlotAllocation) => isLess(limit, target)

type Report = {share: number} & Omit<Member, 'slots'> & ReturnType<LiveSlots['report']>
type Renewal = {org: CrmOrg; holder: string; cap: number; reports: Report[]}

/**
 * Renews the shares in one short transaction under the budget's row lock. If a process opens a share for a run, it has taken over the run, so the
 * earlier process loses its share.
 */
const renewShares = (db: Pool, {org, holder, cap, reports}: Renewal) =>
  db.transaction(async tx => {
    const budget = await lockBudget(tx, org, cap)
    const takenOver = reports.flatMap(({run, fresh}) => (fresh && run !== null ? [run] : []))
    const others = (await takeShares(tx, org, {holder, takenOver})).map(claimOf)
    const mine = reports.map(({share, run, want, held}): SlotClaim => ({key: keyOf({holder, share, run}), demand: want, held}))
    const allotted = allocateSlots(budget, others, mine)
    const shares = reports.map(({share, run, want, inUse}, at) => ({
      holder,
      share,
      run,
      inUse,
      want: want.large + want.small,
      wantLarge: want.large,
      got: allotted[at]!.held.total,
      gotLarge: allotted[at]!.held.large,
    }))
    await insertShares(tx, org, shares)
    const wanting = [...others, ...mine].filter(({demand: want}) => want.large + want.small > 0)
    return {allotted, isCrowded: wanting.length > budget.total}
  })

/** Returns the sort key of a share, the same in every process: first shares without a run, then the oldest runs. */
const keyOf = ({run, holder, share}: Pick<ShareRow, 'run' | 'holder' | 'share'>) =>
  `${String(run ?? 0).padStart(16, '0')} ${holder} ${share}`

const claimOf = (row: ShareRow): SlotClaim => ({
  key: keyOf(row),
  demand: {large: row.wantLarge, small: row.want - row.wantLarge},
  held: {total: row.got, large: row.gotLarge},
})
