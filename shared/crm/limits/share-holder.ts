import {cutBudget, deleteShare, shareSeconds} from '../../../sql/budgets.ts'
import type {CrmOrg} from '../../../sql/crm-quota.ts'
import type {Pool} from '../../../sql/database.ts'
import type {Config} from '../../config.ts'
import type {Log} from '../../telemetry/log.ts'
import type {SlotShare} from './budget.ts'
import {openSlotCap} from './edition-slots.ts'
import {limitDemand, type SlotAllocation, type SlotCounts, type SlotDemand} from './fair-share.ts'
import {openPollTimer} from './poll-timer.ts'
import {type RenewalResult, renewShares} from './renew-shares.ts'
import type {ShareChanges} from './share-changes.ts'
import {type LiveSlots, openSlots} from './slots.ts'

export type ShareHolder = {join(share: number, run: number | null): SlotShare; close(): Promise<void>}
type ShareHolderDeps = {db: Pool; config: Pick<Config, 'CRM_SLOTS'>; log: Log; changes: ShareChanges}
/**
 * `reported`: the demand that is stored in Postgres; null before the share is stored. `windowTimer`: begins the next interval of the demand
 * measurement every `windowMs`.
 */
type Member = {run: number | null; slots: LiveSlots; reported: SlotDemand | null; windowTimer: NodeJS.Timeout}

/** The demand of a run before its first call: one batch. A share without a run has no demand before its first call. */
const oneLargeSlot = {large: 1, small: 0}
const noSlots = {large: 0, small: 0}
/**
 * The interval of renewals while this process receives notifications. A lost notification or an expired share is noticed after at most this
 * time.
 */
const quietMs = 2_000
/** The interval of renewals while this process receives no notifications. Other shares then make room for a new share after at most this time. */
const everyMs = 250
/**
 * The interval after a failed renewal. While this process receives no notifications, also the interval for shares that are below their target or
 * take turns.
 */
const eagerMs = 100
const windowMs = 250
/** A process stops granting slots this long before its shares expire and other processes may use the slots. */
const marginMs = 2_000

/** Opens this process's shares in one CRM org. All of them are renewed together. */
export const openShareHolder = (deps: ShareHolderDeps, org: CrmOrg, holder: string): ShareHolder => {
  const {db, log, changes} = deps
  const members = new Map<number, Member>()
  const {renew, isOpen, isLessWanted} = openRenewals(deps, {org, holder, members})
  const {soon, idle, stop} = openPollTimer(renew)
  changes.watch(org, soon)

  const beginWindow = (share: number) => {
    const member = members.get(share)!
    if (member.reported === null) return
    member.slots.nextWindow()
    if (isLessWanted(member)) soon()
  }
  return {
    join(share, run) {
      const slots = openSlots({isOpen, onChange: soon, first: run === null ? noSlots : oneLargeSlot})
      const windowTimer = setInterval(beginWindow, windowMs, share)
      members.set(share, {run, slots, reported: null, windowTimer})
      soon()
      return {
        large: slots.large,
        small: slots.small,
        async cut() {
          const total = await cutBudget(db, org).catch(error => void log.warn({err: error, ...org}, 'could not cut the CRM budget'))
          if (total) log.info({...org, total}, 'CRM budget cut')
          soon()
        },
        async close() {
          clearInterval(windowTimer)
          members.delete(share)
          // A renewal in progress would store the share again, so the deletion waits until the renewal has ended.
          await idle()
          await deleteShare(db, org, {holder, share}).catch(error =>
            log.warn({err: error, ...org}, 'could not delete the share of the CRM budget; it will expire'),
          )
          soon()
        },
      }
    },
    close() {
      for (const {windowTimer} of members.values()) clearInterval(windowTimer)
      return stop()
    },
  }
}

type RenewalsInput = {org: CrmOrg; holder: string; members: Map<number, Member>}

/** `renew` returns the milliseconds until the next renewal, and does not throw. */
const openRenewals = ({db, config, log, changes}: ShareHolderDeps, {org, holder, members}: RenewalsInput) => {
  const cap = openSlotCap(db, org, config.CRM_SLOTS)
  let last: RenewalResult | null = null
  let openUntil = Number.NEGATIVE_INFINITY
  const renew = async () => {
    const since = performance.now()
    const reports = [...members].map(([share, {run, slots, reported}]) => ({
      share,
      run,
      slots,
      fresh: reported === null,
      ...slots.report(),
    }))
    if (reports.length === 0) return Number.POSITIVE_INFINITY
    try {
      last = await renewShares(db, {org, holder, cap: await cap(), reports})
      openUntil = since + shareSeconds * 1000 - marginMs
      const {allotted} = last
      for (const [at, {share, slots, want}] of reports.entries()) {
        const member = members.get(share)
        if (member) member.reported = want
        slots.resize(allotted[at]!.limit)
      }
      if (reports.some(({slots}, at) => isLess(slots.held(), allotted[at]!.held))) return 0
      return changes.isListening() ? Math.min(quietMs, last.changesInMs) : pollMsAfter(last)
    } catch (error) {
      log.warn({err: error, ...org}, 'could not renew the shares of the CRM budget')
      return eagerMs
    }
  }
  return {
    renew,
    isOpen: () => performance.now() < openUntil,
    /** Whether the demand of this share fell below the stored demand while the slot pool is contended. */
    isLessWanted: ({slots, reported}: Member) =>
      last?.isContended === true &&
      reported !== null &&
      isLessDemand(limitDemand(last.budget, slots.want()), limitDemand(last.budget, reported)),
  }
}

const pollMsAfter = ({allotted, changesInMs}: RenewalResult) =>
  changesInMs < Number.POSITIVE_INFINITY || allotted.some(isShort) ? eagerMs : everyMs

const isLess = (one: SlotCounts, than: SlotCounts) => one.total < than.total || one.large < than.large
const isShort = ({target, limit}: SlotAllocation) => isLess(limit, target)
const isLessDemand = (one: SlotDemand, than: SlotDemand) => one.large < than.large || one.small < than.small
