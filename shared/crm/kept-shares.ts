import type {CrmOrg} from '../../sql/allowances.ts'
import type {Budget, Share} from './budget.ts'

/** Shares of CRM orgs' budgets for calls that belong to no run: one for each org, so that ten callers are no ten parties beside a run. */
export type KeptShares = {
  enter(org: CrmOrg): {share: Share; leave(): void}
  /** What is idle goes back now, the rest as the last one leaves it. */
  drain(): void
  /** Everything goes back now: its calls have ended. */
  close(): Promise<void>
}

type Room = {share: Share; inside: number; idle: NodeJS.Timeout | undefined}

/** A share is opened when first wanted, and goes back when nobody has wanted it for `idleMs`: it costs its process a short transaction a second. */
export const keepShares = (budget: Pick<Budget, 'open'>, {idleMs = 5_000}: {idleMs?: number} = {}): KeptShares => {
  const rooms = new Map<string, Room>()
  const closing = new Set<Promise<void>>()
  let draining = false
  let closed = false

  const shut = (key: string, {share, idle}: Room) => {
    clearTimeout(idle)
    rooms.delete(key)
    const shutting = share.close().finally(() => closing.delete(shutting))
    closing.add(shutting)
  }
  return {
    enter({dc, crmOrgId}) {
      const key = `${dc}.${crmOrgId}`
      const room = rooms.get(key) ?? {share: budget.open({dc, crmOrgId}, null), inside: 0, idle: undefined}
      rooms.set(key, room)
      clearTimeout(room.idle)
      room.inside++
      const leave = () => {
        if (--room.inside > 0 || closed) return
        if (draining) shut(key, room)
        else room.idle = setTimeout(() => shut(key, room), idleMs)
      }
      return {share: room.share, leave}
    },
    drain() {
      draining = true
      for (const [key, room] of rooms) if (room.inside === 0) shut(key, room)
    },
    async close() {
      closed = true
      for (const [key, room] of rooms) shut(key, room)
      await Promise.all(closing)
    },
  }
}
