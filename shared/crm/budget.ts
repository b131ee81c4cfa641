import {randomUUID} from 'node:crypto'
import {hostname} from 'node:os'
import {type CrmOrg, findAllowance} from '../../sql/allowances.ts'
import {cutBudget, deleteShare, insertShares, lockBudget, type ShareRow, shareSeconds, takeShares} from '../../sql/budgets.ts'
import type {Pool} from '../../sql/database.ts'
import type {Config} from '../config.ts'
import type {Log} from '../log.ts'
import {openRhythm} from './rhythm.ts'
import {type Allotted, allot, type Claim, type Portion} from './sharing.ts'
import {type LiveSlots, openSlots, type Slots} from './slots.ts'

/** What one run may have in flight at its CRM org. Large: writes of more than ten records, and queries. */
export type Share = {
  large: Slots
  small: Slots
  /** The CRM refused a call for there being too many: fewer for everybody, for a while. Never throws. */
  cut(): Promise<void>
  /** Gives the share back. Its calls have ended. */
  close(): Promise<void>
}

/** This process's part of every CRM org's concurrency budget, which all processes share through Postgres. */
export type Budget = {
  open(org: CrmOrg, run: number | null): Share
  close(): Promise<void>
}

type Tools = {db: Pool; config: Pick<Config, 'CRM_SLOTS'>; log: Log}

/** What a share wants before its first call: a run will send a batch, and whoever else asks may not ask again. */
const oneLarge = {large: 1, small: 0}
const nothing = {large: 0, small: 0}
/** As long as somebody who has just come waits for those who have everything to hear of it. */
const everyMs = 250
/** While others give way to us, or take turns with us. */
const eagerMs = 100
/** A share not renewed is used no longer than this before the others take it. */
const marginMs = 2_000

export const openBudget = (tools: Tools): Budget => {
  const holder = `${hostname()}:${process.pid}:${randomUUID()}`
  const orgs = new Map<string, Party>()
  let shares = 0
  return {
    open(org, run) {
      const key = `${org.dc}.${org.crmOrgId}`
      const party = orgs.get(key) ?? openParty(tools, org, holder)
      orgs.set(key, party)
      return party.join(++shares, run)
    },
    async close() {
      await Promise.all([...orgs.values()].map(({close}) => close()))
    },
  }
}

type Party = {join(share: number, run: number | null): Share; close(): Promise<void>}
/** `fresh`: not written yet. */
type Member = {run: number | null; slots: LiveSlots; fresh: boolean}

/** The shares of this process in one CRM org, renewed together. */
const openParty = ({db, config, log}: Tools, org: CrmOrg, holder: string): Party => {
  const cap = openCap(db, org, config.CRM_SLOTS)
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
      log.warn({err: error, ...org}, 'shares of the CRM not renewed')
      return eagerMs
    }
  }
  const rhythm = openRhythm(renew)
  const isOpen = () => performance.now() < openUntil

  return {
    join(share, run) {
      const slots = openSlots({isOpen, onChange: rhythm.soon, first: run === null ? nothing : oneLarge})
      members.set(share, {run, slots, fresh: true})
      rhythm.soon()
      return {
        large: slots.large,
        small: slots.small,
        async cut() {
          const total = await cutBudget(db, org).catch(error => void log.warn({err: error, ...org}, 'budget of the CRM not cut'))
          if (total) log.info({...org, total}, 'budget of the CRM cut')
          rhythm.soon()
        },
        async close() {
          members.delete(share)
          // A renewal under way would write it once more.
          await rhythm.idle()
          await deleteShare(db, org, {holder, share}).catch(error => log.warn({err: error, ...org}, 'share of the CRM left to expire'))
        },
      }
    },
    close: rhythm.stop,
  }
}

/** What the CRM allows at once, by edition. Source: wire reference 10. */
const slotsOf: Record<string, number> = {
  ...{free: 5, standard: 10, crmplusstarter: 10, zohoonestandard: 10, professional: 15},
  ...{enterprise: 20, zohooneenterprise: 20, ultimate: 25, crmplus: 25},
}
const editionEveryMs = 60_000

/** By the org's edition, which may change; `otherwise` while nobody has asked for it. */
const openCap = (db: Pool, org: CrmOrg, otherwise: number) => {
  let cap = otherwise
  let askedAt = Number.NEGATIVE_INFINITY
  return async () => {
    if (performance.now() - askedAt < editionEveryMs) return cap
    cap = slotsOf[(await findAllowance(db, org))?.edition?.toLowerCase() ?? ''] ?? otherwise
    askedAt = performance.now()
    return cap
  }
}

const isLess = (one: Portion, than: Portion) => one.total < than.total || one.large < than.large
const isShort = ({target, limit}: Allotted) => isLess(limit, target)

type Report = {share: number} & Omit<Member, 'slots'> & ReturnType<LiveSlots['report']>
type Renewal = {org: CrmOrg; holder: string; cap: number; reports: Report[]}

/**
 * One short transaction under the budget's lock. Who opens a run's share carries the run: whoever held one for it before has lost it.
 */
const renewShares = (db: Pool, {org, holder, cap, reports}: Renewal) =>
  db.transaction(async tx => {
    const budget = await lockBudget(tx, org, cap)
    const takenOver = reports.flatMap(({run, fresh}) => (fresh && run !== null ? [run] : []))
    const others = (await takeShares(tx, org, {holder, takenOver})).map(claimOf)
    const mine = reports.map(({share, run, want, held}): Claim => ({key: keyOf({holder, share, run}), want, held}))
    const allotted = allot(budget, others, mine)
    const shares = reports.map(({share, run, want, inUse}, at) => ({
      ...{holder, share, run, inUse, want: want.large + want.small, wantLarge: want.large},
      ...{got: allotted[at]!.held.total, gotLarge: allotted[at]!.held.large},
    }))
    await insertShares(tx, org, shares)
    const wanting = [...others, ...mine].filter(({want}) => want.large + want.small > 0)
    return {allotted, isCrowded: wanting.length > budget.total}
  })

/** Every process puts the shares in the same order, the oldest runs first. */
const keyOf = ({run, holder, share}: Pick<ShareRow, 'run' | 'holder' | 'share'>) =>
  `${String(run ?? 0).padStart(16, '0')} ${holder} ${share}`

const claimOf = (row: ShareRow): Claim => ({
  key: keyOf(row),
  want: {large: row.wantLarge, small: row.want - row.wantLarge},
  held: {total: row.got, large: row.gotLarge},
})
