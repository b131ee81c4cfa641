/** Slots of one share; `large` of its `total` may be used by large calls. */
export type Portion = {total: number; large: number}
/** Calls a share would have in flight if it could: large ones and others. */
export type Want = {large: number; small: number}
export type Claim = {key: string; want: Want; held: Portion}
/** `held`: what is the share's until it says otherwise. `limit`: what it may use, less than it holds while calls of it end. */
export type Allotted = {held: Portion; limit: Portion; target: Portion}

/** Writes of more than ten records and queries, whatever the edition. Source: wire reference 10. */
const mostLarge = 10

/**
 * Shares a budget out again, as far as `mine` go. Every share has a target; one below its own takes what is free, and no slot is
 * free before its holder has said so. So the shares never hold more than the budget together, whoever asks when.
 */
export const allot = (budget: {total: number; turn: number}, others: Claim[], mine: Claim[]): Allotted[] => {
  const claims = [...others, ...mine].toSorted((a, b) => (a.key < b.key ? -1 : 1))
  const targets = new Map(setTargets(budget, claims).map((target, at) => [claims[at]!, target]))
  let free = budget.total - sum(claims.map(({held}) => held.total))
  let freeLarge = Math.min(budget.total, mostLarge) - sum(claims.map(({held}) => held.large))
  return mine.map(claim => {
    const target = targets.get(claim)!
    const held = {total: raise(claim.held.total, target.total, free), large: raise(claim.held.large, target.large, freeLarge)}
    free -= held.total - claim.held.total
    freeLarge -= held.large - claim.held.large
    return {held, limit: {total: Math.min(held.total, target.total), large: Math.min(held.large, target.large)}, target}
  })
}

const raise = (held: number, target: number, free: number) => held + Math.max(0, Math.min(target - held, free))

/** Large calls first: what a share cannot use for them it does not ask for. */
const setTargets = ({total, turn}: {total: number; turn: number}, claims: Claim[]): Portion[] => {
  const large = shareOut(
    Math.min(total, mostLarge),
    claims.map(({want}) => want.large),
    turn,
  )
  const all = shareOut(
    total,
    claims.map(({want}, at) => large[at]! + want.small),
    turn,
  )
  return all.map((slots, at) => ({total: slots, large: Math.min(slots, large[at]!)}))
}

/**
 * Max-min: nobody gets more than he wants, and nobody could have more but from one who has no more than he. Where more want than
 * there are slots, each of them has one in his turn.
 */
export const shareOut = (slots: number, wants: number[], turn: number): number[] => {
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
