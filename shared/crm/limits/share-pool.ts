import type {CrmOrg} from '../../../sql/crm-quota.ts'
import type {Budget, SlotShare} from './budget.ts'

/** Shares for calls outside runs. All such calls to one CRM org use one share, so together they compete like one run. */
export type SharePool = {
  enter(org: CrmOrg): {share: SlotShare; leave(): void}
  /** Releases idle shares now, and every other share when its last caller leaves. */
  drain(): void
  /** Releases all shares now. Their calls must have ended. */
  close(): Promise<void>
}

type PooledShare = {share: SlotShare; inside: number; idle: NodeJS.Timeout | undefined}

/** Opens a pool. A share is opened at its first use and released after `idleMs` without use, because every open share costs renewals. */
export const openSharePool = (budget: Pick<Budget, 'open'>, {idleMs = 5_000}: {idleMs?: number} = {}): SharePool => {
  const rooms = new Map<string, PooledShare>()
  const closing = new Set<Promise<void>>()
  let draining = false
  let closed = false

  const closeShare = (key: string, {share, idle}: PooledShare) => {
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
        if (draining) closeShare(key, room)
        else room.idle = setTimeout(() => closeShare(key, room), idleMs)
      }
      return {share: room.share, leave}
    },
    drain() {
      draining = true
      for (const [key, room] of rooms) if (room.inside === 0) closeShare(key, room)
    },
    async close() {
      closed = true
      for (const [key, room] of rooms) closeShare(key, room)
      await Promise.all(closing)
    },
  }
}
