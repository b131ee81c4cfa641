import type {Budget, Share} from '../../shared/crm/budget.ts'
import type {CrmOrg} from '../../sql/allowances.ts'
import type {Tools} from '../tools.ts'

/** A share costs its process a short transaction a second, wanted or not. */
const idleMs = 5_000

type Room = {share: Share; inside: number; idle: NodeJS.Timeout | undefined; shut(): Promise<void>}

/** Of each budget, by CRM org. */
const rooms = new WeakMap<Budget, Map<string, Room>>()

/**
 * The one share this process has of a CRM org's budget for the writes of outside engines: ten requests are no ten parties beside a run
 * that has one. Kept for a while after the last of them has closed it.
 */
export const openShare = ({budget, drain}: Pick<Tools, 'budget' | 'drain'>, {dc, crmOrgId}: CrmOrg): Share => {
  const open = rooms.get(budget) ?? new Map<string, Room>()
  rooms.set(budget, open)
  const key = `${dc}.${crmOrgId}`
  const room = open.get(key) ?? openRoom(budget.open({dc, crmOrgId}, null), drain, () => open.delete(key))
  open.set(key, room)
  clearTimeout(room.idle)
  room.inside++
  return {
    ...room.share,
    async close() {
      if (--room.inside > 0) return
      if (drain.aborted) return room.shut()
      room.idle = setTimeout(room.shut, idleMs)
    },
  }
}

const openRoom = (share: Share, drain: AbortSignal, onShut: () => void): Room => {
  const room: Room = {
    ...{share, inside: 0, idle: undefined},
    async shut() {
      if (room.inside > 0) return
      clearTimeout(room.idle)
      drain.removeEventListener('abort', room.shut)
      onShut()
      await share.close()
    },
  }
  drain.addEventListener('abort', room.shut)
  return room
}
