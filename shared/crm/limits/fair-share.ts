/** The slots of one share. Large calls may use at most `large` of the `total` slots. */
export type SlotCounts = {total: number; large: number}
/** The calls that a share would have in flight without a limit. */
export type SlotDemand = {large: number; small: number}
/**
 * A slot pool. If more shares want slots than the pool has, the shares take turns; `turn` is the number of the current turn. `reserved`: the number of
 * free slots that only a share without slots may take; 0 if absent.
 */
export type SlotBudget = {total: number; turn: number; reserved?: number}
export type SlotClaim = {key: string; demand: SlotDemand; held: SlotCounts}
/**
 * `held`: the slots that other shares cannot take until the next renewal. `target`: the fair share. `limit`: the slots that calls may use; it is
 * lower than `held` while calls above the target end.
 */
export type SlotAllocation = {held: SlotCounts; limit: SlotCounts; target: SlotCounts}

/**
 * The maximum number of concurrent large calls in every edition. Large calls are queries, and writes of more than ten records. Source:
 * zoho.com/crm/developer/docs/api/v8/api-limits.html.
 */
export const mostLarge = 10

/**
 * Allocates the budget's slots to the shares in `mine`. Every share has a target, and a share below its target takes free slots. A slot is free
 * only after its holder has returned it, so an allocation never raises the sum of all shares above the budget.
 * Small runs often follow one another. A reserved slot lets the next one begin at once, instead of waiting until a call of a large run ends.
 */
export const allocateSlots = (budget: SlotBudget, others: SlotClaim[], mine: SlotClaim[]): SlotAllocation[] => {
  const claims = [...others, ...mine].toSorted((a, b) => (a.key < b.key ? -1 : 1))
  const targets = new Map(setTargets(budget, claims).map((target, at) => [claims[at]!, target]))
  let free = budget.total - sum(claims.map(({held}) => held.total))
  let freeLarge = Math.min(budget.total, mostLarge) - sum(claims.map(({held}) => held.large))
  return mine.map(claim => {
    const target = targets.get(claim)!
    const reserved = claim.held.total > 0 ? (budget.reserved ?? 0) : 0
    const held = {
      total: raiseToTarget(claim.held.total, target.total, free - reserved),
      large: raiseToTarget(claim.held.large, target.large, freeLarge - reserved),
    }
    free -= held.total - claim.held.total
    freeLarge -= held.large - claim.held.large
    return {held, limit: {total: Math.min(held.total, target.total), large: Math.min(held.large, target.large)}, target}
  })
}

const raiseToTarget = (held: number, target: number, free: number) => held + Math.max(0, Math.min(target - held, free))

/** Returns whether the demand of any share exceeds its fair share. If so, every process reports falling demand immediately. */
export const isContended = (budget: SlotBudget, claims: SlotClaim[]): boolean =>
  setTargets(budget, claims).some((target, at) => {
    const {large, small} = limitDemand(budget, claims[at]!.demand)
    return target.large < large || target.total < Math.min(budget.total, target.large + small)
  })

/** Limits a demand to the slots that the pool could grant to a single share. Any higher demand has the same effect. */
export const limitDemand = ({total}: SlotBudget, {large, small}: SlotDemand): SlotDemand => ({
  large: Math.min(large, total, mostLarge),
  small: Math.min(small, total),
})

/** Large slots are divided first. A share's total demand then includes only the large calls that the share may make. */
const setTargets = ({total, turn}: SlotBudget, claims: SlotClaim[]): SlotCounts[] => {
  const large = divideFairly(
    Math.min(total, mostLarge),
    claims.map(({demand: want}) => want.large),
    turn,
  )
  const all = divideFairly(
    total,
    claims.map(({demand: want}, at) => large[at]! + want.small),
    turn,
  )
  return all.map((slots, at) => ({total: slots, large: Math.min(slots, large[at]!)}))
}

/**
 * Divides slots by max-min fairness: no share gets more than it wants. A share gets two or more slots above another share only if the other has all
 * that it wants. If more shares want slots than slots exist, the shares take turns with one slot each.
 */
export const divideFairly = (slots: number, wants: number[], turn: number): number[] => {
  const got = wants.map(() => 0)
  const wanting = wants.flatMap((want, at) => (want > 0 ? [at] : []))
  if (wanting.length > slots) {
    for (let n = 0; n < slots; n++) got[wanting[(turn * slots + n) % wanting.length]!] = 1
    return got
  }
  for (let left = slots, open = wanting; left > 0 && open.length; open = open.filter(at => got[at]! < wants[at]!)) {
    const each = Math.max(1, Math.floor(left / open.length))
    for (const at of open) {
      const more = Math.min(each, wants[at]! - got[at]!, left)
      got[at]! += more
      left -= more
    }
  }
  return got
}

const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0)
