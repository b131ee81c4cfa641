import type {Clock} from './clock.ts'
import type {Edition} from './schema.ts'

const dayMs = 24 * 3600_000

/** The credits of calls. A call without an entry here costs one credit. */
export const costs = {
  call: 1,
  recordsPerCredit: 10,
  bulkRead: 50,
  bulkWrite: 500,
  coql: [
    {limit: 200, credits: 1},
    {limit: 1000, credits: 2},
    {limit: 2000, credits: 3},
  ],
}

const allowances: Record<Edition, {base: number; perLicence: number; cap: number}> = {
  free: {base: 5000, perLicence: 0, cap: 5000},
  standard: {base: 50_000, perLicence: 250, cap: 100_000},
  crmplusstarter: {base: 50_000, perLicence: 250, cap: 100_000},
  zohoonestandard: {base: 50_000, perLicence: 250, cap: 100_000},
  professional: {base: 50_000, perLicence: 500, cap: 3_000_000},
  enterprise: {base: 50_000, perLicence: 1000, cap: 5_000_000},
  zohooneenterprise: {base: 50_000, perLicence: 1000, cap: 5_000_000},
  ultimate: {base: 50_000, perLicence: 2000, cap: Number.POSITIVE_INFINITY},
  crmplus: {base: 50_000, perLicence: 2000, cap: Number.POSITIVE_INFINITY},
}

/** The credits that an org used. Each credit returns 24 hours after its use; there is no daily reset. */
export type CreditLedger = {
  /** Uses the credits; returns false and uses none if too few remain. */
  spend: (credits: number) => boolean
  allowance: () => number
  used: () => number
  remaining: () => number
  /** The value of the header `x-api-credits-remaining`, or null while less than half of the quota is used. */
  header: () => number | null
  /** Changes the quota, the add-on credits or the credits used so far. Null restores the quota of the edition. */
  change: (to: {allowance?: number | null; addOn?: number; used?: number}) => void
  /** Leaves no credits until that time in ms, regardless of the ledger. Null ends it. */
  exhaustUntil: (at: number | null) => void
  entries: () => {at: number; credits: number}[]
  restore: (entries: {at: number; credits: number}[]) => void
}

export const createLedger = (clock: Clock, {edition, licences}: {edition: Edition; licences: number}): CreditLedger => {
  let entries: {at: number; credits: number}[] = []
  let total = 0
  let addOn = 0
  let exhausted: number | null = null
  let fixed: number | null = null
  const {base, perLicence, cap} = allowances[edition]

  const allowance = () => fixed ?? Math.min(cap, base + perLicence * licences)
  const used = () => {
    const since = clock.now() - dayMs
    while (entries.length > 0 && entries[0]!.at <= since) total -= entries.shift()!.credits
    return total
  }
  const isExhausted = () => exhausted !== null && clock.now() < exhausted
  const remaining = () => (isExhausted() ? 0 : Math.max(0, allowance() + addOn - used()))
  const add = (credits: number) => {
    const at = Math.floor(clock.now() / 1000) * 1000
    const last = entries[entries.length - 1]
    if (last?.at === at) last.credits += credits
    else entries.push({at, credits})
    total += credits
  }
  return {
    allowance,
    used,
    remaining,
    spend: credits => {
      if (remaining() < credits) return false
      add(credits)
      return true
    },
    header: () => (isExhausted() ? 0 : used() * 2 >= allowance() ? remaining() : null),
    change: to => {
      if (to.allowance !== undefined) fixed = to.allowance
      if (to.addOn !== undefined) addOn = to.addOn
      if (to.used !== undefined) {
        entries = []
        total = 0
        if (to.used > 0) add(to.used)
      }
    },
    exhaustUntil: at => {
      exhausted = at
    },
    entries: () => entries,
    restore: kept => {
      entries = kept
      total = kept.reduce((sum, entry) => sum + entry.credits, 0)
    },
  }
}

/** Returns the credits of a COQL query by its LIMIT. */
export const coqlCost = (limit: number) => costs.coql.find(step => limit <= step.limit)?.credits ?? costs.coql.at(-1)!.credits
export const writeCost = (records: number) => Math.max(1, Math.ceil(records / costs.recordsPerCredit))
